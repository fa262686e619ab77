import * as fc from "fast-check";
import { expect, it } from "vitest";
import { printable } from "./index.ts";

it.each([
  ["a\nb\r\tc", "a\\nb\\r\\tc"],
  ["\u001b[31mred", "\\u001b[31mred"],
  ["\u009b31m \u007f", "\\u009b31m \\u007f"],
  ["one\u2028two\u2029three", "one\\u2028two\\u2029three"],
  ["\u202egnp.exe", "\\u202egnp.exe"],
  ["°C, 節電 and 🔌 stay", "°C, 節電 and 🔌 stay"],
])("%j is printed as %j", (text, printed) => {
  expect(printable(text)).toBe(printed);
});

it("removes every control character and is idempotent", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(printable(text)).not.toMatch(/\p{Cc}/u);
      expect(printable(printable(text))).toBe(printable(text));
    }),
  );
});
