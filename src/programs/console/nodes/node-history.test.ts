import { expect, it } from "vitest";
import { historyOf } from "./node-history.ts";

it("CLI-11 finds changes of the cap in the dashboard's history, over gaps, and ignores noise", () => {
  const { capChanges, power, length } = historyOf({
    at: [0, 60_000, 120_000, 180_000, 240_000],
    power: [500, null, 410, 400, 390],
    cap: [700, null, 420, 420.4, 700],
  });
  expect(capChanges).toEqual([
    { at: 120_000, from: 700, to: 420, drawn: 410 },
    { at: 240_000, from: 420.4, to: 700, drawn: 390 },
  ]);
  expect(power).toEqual([500, undefined, 410, 400, 390]);
  expect(length).toBe(240_000);
});
