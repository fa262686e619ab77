import { expect, it } from "vitest";
import { ViewKeys } from "./view-keys.ts";

it.each(["q", "Q"])("%s quits", (key) => {
  const keys = new ViewKeys();
  keys.press("x");
  expect(keys.quit.aborted).toBe(false);
  keys.press(key);
  expect(keys.quit.aborted).toBe(true);
});

it("toggles the explanation with ?, closes it with Escape, and redraws at once", () => {
  const keys = new ViewKeys();
  const seen: boolean[] = [];
  keys.onChange = () => seen.push(keys.explains);
  for (const key of ["\x1b", "?", "x", "?", "?", "\x1b", "\x1b"]) keys.press(key);
  expect(seen).toEqual([true, false, true, false]);
  expect(keys.quit.aborted).toBe(false);
});
