import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ownerMark } from "../test/controlplane/owner.ts";
import { memoryScratch } from "./memory-scratch.ts";

let place: string;
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), "joulie-scratch-test-"));
});
afterEach(() => rmSync(place, { recursive: true }));

describe("the scratch folder of tests", () => {
  it("is a new folder in the given place", () => {
    const folder = memoryScratch(place, 0);
    expect(folder).toContain(`${place}/joulie-test-scratch-${ownerMark()}-`);
    expect(existsSync(folder ?? "")).toBe(true);
  });

  it("is none without enough room, or without the place", () => {
    expect(memoryScratch(place, 2 ** 60)).toBeUndefined();
    expect(memoryScratch(join(place, "missing"), 0)).toBeUndefined();
  });

  it("removes folders of killed runs, and keeps those of running ones and of others", () => {
    const dead = join(place, `joulie-test-scratch-${ownerMark().replace(/^\d+/, "4194399")}-x`);
    const alive = join(place, `joulie-test-scratch-${ownerMark()}-x`);
    const other = join(place, "other");
    for (const folder of [dead, alive, other]) mkdirSync(folder);
    memoryScratch(place, 0);
    expect([dead, alive, other].map((folder) => existsSync(folder))).toEqual([false, true, true]);
  });
});
