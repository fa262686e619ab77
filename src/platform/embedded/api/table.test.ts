import { describe, expect, it } from "vitest";
import { instant } from "../../../core/units/index.ts";
import { ageOf, jsonPathValue } from "./response-format.ts";

describe("ageOf", () => {
  it("shows an unknown age for an object without a date", () => {
    expect(ageOf(undefined, instant(0))).toBe("<unknown>");
    expect(ageOf("yesterday", instant(0))).toBe("unknown");
    expect(ageOf("1970-01-01T00:00:00Z", instant(5000))).toBe("5s");
  });
});

describe("jsonPathValue", () => {
  const object = {
    a: {
      "b-c": [
        { type: "X", v: 1 },
        { type: "Y", v: 2 },
      ],
    },
    "d.e": 3,
  };
  it.each([
    [".a.b-c[1].v", 2],
    ['.a.b-c[?(@.type=="X")].v', 1],
    [".a.nothing.more", undefined],
    ["['d.e']", 3],
    [".a.constructor", undefined],
    [".a.b-c[9].v", undefined],
  ])("%s", (path, value) => {
    expect(jsonPathValue(object, path)).toBe(value);
  });
});
