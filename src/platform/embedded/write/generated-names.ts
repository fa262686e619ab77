import type { RandomSource } from "../../../core/units/index.ts";

const HEX = "0123456789abcdef";
/** No vowels and none of 0, 1, 3: no words, and nothing to misread. Kubernetes' own choice. */
const SUFFIX = "bcdfghjklmnpqrstvwxz2456789";

const pick = (alphabet: string, random: RandomSource): string =>
  alphabet[Math.floor(random.next() * alphabet.length)] ?? "";

/** A version 4 UUID from the injected chance: the same in each run of a seed. It tells objects apart and guards nothing. */
export function uuid(random: RandomSource): string {
  return "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx".replaceAll(/[xy]/g, (place) =>
    pick(place === "x" ? HEX : "89ab", random),
  );
}

/** What the server appends to `metadata.generateName`. */
export const nameSuffix = (random: RandomSource): string =>
  Array.from({ length: 5 }, () => pick(SUFFIX, random)).join("");
