import type { LabelColumn } from "../../src/programs/dashboard/wire.ts";
import type { Fleet } from "./fleet.ts";

/**
 * Words that a node must all match: `class:eco`, `rack:r1` for the value of the chosen label, `gpu`, `pinned`, or a part of its
 * name. A minus before a word turns it around.
 */
export function filterOf(text: string, fleet: Fleet, groups: LabelColumn | undefined): (slot: number) => boolean {
  const tests = text
    .toLowerCase()
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => testOf(word, fleet, groups));
  return (slot) => tests.every((test) => test(slot));
}

function testOf(word: string, fleet: Fleet, groups: LabelColumn | undefined): (slot: number) => boolean {
  if (word.startsWith("-") && word.length > 1) {
    const test = testOf(word.slice(1), fleet, groups);
    return (slot) => !test(slot);
  }
  if (word.startsWith("class:")) return (slot) => fleet.classOf(slot).startsWith(word.slice(6));
  if (word.startsWith("group:") || word.startsWith("rack:")) {
    const value = word.slice(word.indexOf(":") + 1);
    return (slot) => groupOf(groups, slot).toLowerCase().startsWith(value);
  }
  if (word === "gpu") return (slot) => (fleet.value("gpus", slot) ?? 0) > 0;
  if (word === "pinned") return (slot) => fleet.value("pinned", slot) === 1;
  return (slot) => (fleet.names[slot] ?? "").toLowerCase().includes(word);
}

export const groupOf = (groups: LabelColumn | undefined, slot: number): string =>
  groups?.values[groups.codes[slot] ?? -1] ?? "";
