import * as z from "zod";

const zone = z.strictObject({
  /** Microwatts, exactly as read from the file. */
  limit: z.int().nonnegative(),
  enabled: z.boolean(),
});

/** A package has one zone, or one per die. */
const MAX_ZONES = 64;
const schema = z
  .record(z.string(), zone)
  .refine((zones) => Object.keys(zones).length > 0 && Object.keys(zones).length <= MAX_ZONES);

/** The original values of one zone. */
export type RaplSetting = z.infer<typeof zone>;
/** The original values of a package, by zone name. */
export type RaplOriginal = z.infer<typeof schema>;

/** Undefined if the text is not a valid original. */
export function parseRaplOriginal(text: string): RaplOriginal | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
