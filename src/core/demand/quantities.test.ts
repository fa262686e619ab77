import { expect, it } from "vitest";
import type { ResourceList } from "../api/index.ts";
import { addQuantities, QuantityReader } from "./quantities.ts";

it.each([
  ['"2"', 2],
  ["2", 2],
  ['"500m"', 0.5],
  ["0", 0],
])("X-60 %s is read", (json, amount) => {
  const reader = new QuantityReader();
  expect(reader.amount(JSON.parse(`{"cpu":${json}}`) as ResourceList, "cpu")).toBe(amount);
  expect(reader.unreadable).toEqual([]);
});

it.each([
  ['"two"', "two"],
  ["-1", "-1"],
  ["null", "null"],
  ["true", "boolean"],
  ["[1]", "object"],
  ['{"toString":1,"valueOf":1}', "object"],
])("X-60 %s counts as missing and is reported once", (json, text) => {
  const reader = new QuantityReader();
  const list = JSON.parse(`{"cpu":${json}}`) as ResourceList;
  expect([reader.amount(list, "cpu"), reader.amount(list, "cpu")]).toEqual([undefined, undefined]);
  expect(reader.unreadable).toEqual([{ resource: "cpu", text }]);
});

it("does not report an absent quantity, nor read one from the prototype", () => {
  const reader = new QuantityReader();
  expect(reader.amount(undefined, "cpu")).toBeUndefined();
  expect(reader.amount({}, "toString")).toBeUndefined();
  expect(reader.unreadable).toEqual([]);
});

it("ten times 100m is one", () => {
  expect(Array.from({ length: 10 }, () => 0.1).reduce(addQuantities)).toBe(1);
});
