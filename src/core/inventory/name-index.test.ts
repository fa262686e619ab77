import { expect, it, vi } from "vitest";
import { BUILTIN_CPUS, CPU_FAMILIES, CPU_PROXIES } from "./builtin.ts";
import { indexFamilies, indexNames, NameHolders } from "./name-index.ts";
import { cpuNameParts, gpuNameParts } from "./normalise.ts";

it("reads the names of an entry once, however many entries were added before", () => {
  const partsOf = vi.fn(gpuNameParts);
  const names = new NameHolders(partsOf);
  for (let at = 0; at < 50; at++) expect(names.admit({ key: `board ${at}`, aliases: [`b${at}`] })).toBeUndefined();
  expect(partsOf).toHaveBeenCalledTimes(100);
  expect(names.holderOf("Board 7")).toBe("board 7");
  expect(names.holderOf("B-8")).toBeUndefined();
});

it("accepts an entry again under its key with additional names", () => {
  const names = new NameHolders(gpuNameParts);
  names.admit({ key: "one", aliases: [] });
  expect(names.admit({ key: "one", aliases: ["uno"] })).toBeUndefined();
  expect(names.admit({ key: "two", aliases: ["due", "Uno"] })).toEqual({ name: "Uno", heldBy: "one" });
  expect(names.holderOf("due")).toBeUndefined();
  expect(names.admit({ key: "nvidia", aliases: [] })).toEqual({ name: "nvidia" });
});

it("skips proxies with an unknown key and families without a representative", () => {
  expect(indexNames([], CPU_PROXIES, cpuNameParts).standIns.size).toBe(0);
  expect(indexFamilies([], CPU_FAMILIES)).toEqual([]);
  for (const { family, members } of indexFamilies(BUILTIN_CPUS, CPU_FAMILIES)) {
    expect(members.map(({ entry }) => entry.family)).toEqual(members.map(() => family.family));
  }
});
