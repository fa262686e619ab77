import * as z from "zod";

const policy = z.strictObject({
  /** scaling_max_freq and scaling_min_freq, in kHz. */
  max: z.int().positive(),
  min: z.int().nonnegative(),
  /** Nothing held it below what its hardware could do. */
  free: z.literal(true).optional(),
});
const schema = z.record(z.string().regex(/^\d{1,6}$/), policy);

/** What a throttle changes of one policy. */
export type PolicyOriginal = z.infer<typeof policy>;

/** By policy; undefined where the text says nothing that could be written back. */
export function parseCpufreqOriginals(text: string): ReadonlyMap<number, PolicyOriginal> | undefined {
  try {
    const { data } = schema.safeParse(JSON.parse(text));
    const originals = Object.entries(data ?? {}).map(([id, original]) => [Number(id), original] as const);
    return originals.length === 0 ? undefined : new Map(originals);
  } catch {
    return undefined;
  }
}
