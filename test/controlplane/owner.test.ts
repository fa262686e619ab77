import { describe, expect, it } from "vitest";
import { isGone, ownerMark } from "./owner.ts";

describe("the owner of a file", () => {
  const missingPid = 2 ** 30;
  const [pid, place, start] = ownerMark().split("-");

  it("exists as long as its process runs", () => {
    expect(isGone(ownerMark())).toBe(false);
    expect(isGone(`${ownerMark()}-more-of-a-name`)).toBe(false);
    expect(isGone(ownerMark(missingPid))).toBe(true);
  });

  it("is gone if another process has its pid now", () => {
    expect(isGone(`${pid}-${place}-${Number(start) + 1}`)).toBe(true);
  });

  it("is unknown if it runs in another container that shares the folder", () => {
    expect(isGone(`${pid}-elsewhere-${start}`)).toBeUndefined();
    expect(isGone(`${missingPid}-elsewhere-0`)).toBeUndefined();
  });

  it("is identified by the pid alone in old marks; a mark without a pid has no owner", () => {
    expect(isGone(String(process.pid))).toBe(false);
    expect(isGone(String(missingPid))).toBe(true);
    for (const text of ["", "unfinished", "-1", "NaN-x"]) expect(isGone(text)).toBe(true);
  });
});
