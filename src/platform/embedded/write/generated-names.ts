import type { RandomSource } from "../../../core/units/index.ts";

const HEX = "0123456789abcdef";
/** Kubernetes' alphabet: no vowels and no 0, 1, 3, so suffixes form no words and are easy to read. */
const SUFFIX = "bcdfghjklmnpqrstvwxz2456789";

const pick = (alphabet: string, random: RandomSource): string =>
  alphabet[Math.floor(random.next() * alphabet.length)] ?? "";

/** A version 4 UUID from the injected random source, reproducible per seed. Not for secrets. */
export function uuid(random: RandomSource): string {
  return "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx".replaceAll(/[xy]/g, (place) =>
    pick(place === "x" ? HEX : "89ab", random),
  );
}

/** The random suffix for `metadata.generateName`. */
export const nameSuffix = (random: RandomSource): string =>
  Array.from({ length: 5 }, () => pick(SUFFIX, random)).join("");
