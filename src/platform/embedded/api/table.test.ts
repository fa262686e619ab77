import { describe, expect, it } from "vitest";
import { instant } from "../../../core/units/index.ts";
import { ageOf, humanDuration, jsonPathValue } from "./table.ts";

describe("humanDuration", () => {
  const minute = 60;
  const hour = 3600;
  const day = 86_400;
  it.each([
    [-5, "<invalid>"],
    [-1, "0s"],
    [0, "0s"],
    [119.9, "119s"],
    [2 * minute, "2m"],
    [2 * minute + 30, "2m30s"],
    [10 * minute + 30, "10m"],
    [3 * hour - 1, "179m"],
    [3 * hour, "3h"],
    [3 * hour + 15 * minute, "3h15m"],
    [8 * hour + 15 * minute, "8h"],
    [48 * hour - 1, "47h"],
    [2 * day + 4 * hour, "2d4h"],
    [8 * day + 4 * hour, "8d"],
    [729 * day, "729d"],
    [731 * day, "2y1d"],
    [8 * 365 * day + day, "8y"],
  ])("%d s is %s", (seconds, shown) => {
    expect(humanDuration(seconds)).toBe(shown);
  });

  it("shows an unknown age for an object without a date", () => {
    expect(ageOf(undefined, instant(0))).toBe("<unknown>");
    expect(ageOf("yesterday", instant(0))).toBe("<unknown>");
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
