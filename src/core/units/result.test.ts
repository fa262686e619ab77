import { expect, it } from "vitest";
import { abridged, badText } from "./result.ts";

it("quotes invalid text, shortened if it is long", () => {
  expect(badText('say "x"', "a number")).toEqual({
    ok: false,
    error: { text: 'say "x"', expected: "a number", message: '"say \\"x\\"" is not a number' },
  });
  const long = "x".repeat(1_000_000);
  const result = badText(long, "a number");
  expect(!result.ok && result.error.message).toBe(`"${"x".repeat(80)}…" is not a number`);
  expect(!result.ok && result.error.text).toBe(long);
});

it("shortens only text that is too long", () => {
  expect([abridged(""), abridged("x".repeat(80))]).toEqual(["", "x".repeat(80)]);
  expect(abridged("x".repeat(81))).toBe(`${"x".repeat(80)}…`);
});
