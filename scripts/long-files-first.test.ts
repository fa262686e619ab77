import { describe, expect, it } from "vitest";
import { byPlace } from "./long-files-first.ts";

describe("the order of test files", () => {
  it("has long files first, in the given order, and keeps the others as they are", () => {
    const files = ["/a/x.test.ts", "/b/slow.test.ts", "/c/slow.test.ts", "/a/y.test.ts", "/b/slower.test.ts"];
    expect(files.toSorted(byPlace(["b/slower", "b/slow"]))).toEqual([
      "/b/slower.test.ts",
      "/b/slow.test.ts",
      "/a/x.test.ts",
      "/c/slow.test.ts",
      "/a/y.test.ts",
    ]);
  });
});
