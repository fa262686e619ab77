import * as z from "zod";

const zone = z.strictObject({
  /** Microwatts, just as the file had them. */
  limit: z.int().nonnegative(),
  enabled: z.boolean(),
});

/** One zone for a package, or one for each of its dies. */
const MOST_ZONES = 64;
const schema = z
  .record(z.string(), zone)
  .refine((zones) => Object.keys(zones).length > 0 && Object.keys(zones).length <= MOST_ZONES);

/** All of a zone that a cap changes. */
export type RaplSetting = z.infer<typeof zone>;
/** The same of a whole package, by the names of its zones. */
export type RaplOriginal = z.infer<typeof schema>;

/** Undefined where the text says nothing that could be written back. */
export function parseRaplOriginal(text: string): RaplOriginal | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
