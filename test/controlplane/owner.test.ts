import { describe, expect, it } from "vitest";
import { isGone, ownerMark } from "./owner.ts";

describe("the owner of a file", () => {
  const nobody = 2 ** 30;
  const [pid, place, start] = ownerMark().split("-");

  it("lives as long as this very process does", () => {
    expect(isGone(ownerMark())).toBe(false);
    expect(isGone(`${ownerMark()}-more-of-a-name`)).toBe(false);
    expect(isGone(ownerMark(nobody))).toBe(true);
  });

  it("is gone where another process has its number now", () => {
    expect(isGone(`${pid}-${place}-${Number(start) + 1}`)).toBe(true);
  });

  it("is not known where it lives elsewhere, in a container that shares the folder", () => {
    expect(isGone(`${pid}-elsewhere-${start}`)).toBeUndefined();
    expect(isGone(`${nobody}-elsewhere-0`)).toBeUndefined();
  });

  it("is judged by its pid alone when there is nothing else, and has no owner without a pid", () => {
    expect(isGone(String(process.pid))).toBe(false);
    expect(isGone(String(nobody))).toBe(true);
    for (const text of ["", "unfinished", "-1", "NaN-x"]) expect(isGone(text)).toBe(true);
  });
});
