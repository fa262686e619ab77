import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const run = promisify(execFile);

// In a process of its own: the flag would stay set for every test that comes after. One that V8 does not know it only grumbles at.
it("the flag is one that this Node's V8 knows", async () => {
  const from = JSON.stringify(join(import.meta.dirname, "small-compiler.ts"));
  const script = `import { keepFirstCompilation } from ${from}; keepFirstCompilation(); console.log("set");`;
  const { stdout, stderr } = await run(process.execPath, ["--input-type=module", "--eval", script]);
  expect([stdout.trim(), stderr]).toEqual(["set", ""]);
});
