import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

it("V8 knows the flags: of one that it does not know it says so and goes on without", async () => {
  const program = `
    import { collectAlone, nurseryCollector } from ${JSON.stringify(new URL("nursery.ts", import.meta.url))};
    collectAlone();
    nurseryCollector()();`;
  const { stderr } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
  expect(stderr).toBe("");
});
