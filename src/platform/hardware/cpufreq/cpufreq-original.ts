import * as z from "zod";

const policy = z.strictObject({
  /** scaling_max_freq and scaling_min_freq, in kHz. */
  max: z.int().positive(),
  min: z.int().nonnegative(),
  /** Nothing limited the policy below its hardware maximum. */
  free: z.literal(true).optional(),
});
const schema = z.record(z.string().regex(/^\d{1,6}$/), policy);

/** The original frequencies of one policy. */
export type PolicyOriginal = z.infer<typeof policy>;

/** The originals by policy id; undefined if the text is not valid. */
export function parseCpufreqOriginals(text: string): ReadonlyMap<number, PolicyOriginal> | undefined {
  try {
    const { data } = schema.safeParse(JSON.parse(text));
    const originals = Object.entries(data ?? {}).map(([id, original]) => [Number(id), original] as const);
    return originals.length === 0 ? undefined : new Map(originals);
  } catch {
    return undefined;
  }
}
