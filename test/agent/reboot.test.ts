// A machine that reboots while a cap is in force: afterwards the firmware's limits are the originals.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { noTarget, phases, shape, startAgent } from "./cap-lifecycle.ts";
import { bootFile, createMachineFiles, limitFile } from "./machine-files.ts";

const folder = mkdtempSync(join(tmpdir(), "joulie-agent-boot-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("X-59 keeps the firmware's limits after a reboot", async () => {
  createMachineFiles(folder, shape);
  const [capped = noTarget] = phases;
  const limits = () => [0, 1].map((index) => readFileSync(join(folder, "sys", limitFile(index)), "utf8"));
  const before = await startAgent(folder);
  await before.enforce(capped);
  await before.close();
  expect(limits()).toEqual(["240000000", "240000000"]);
  writeFileSync(join(folder, "proc", bootFile), "a6c2f3c0-0000-4000-8000-000000000002\n");
  for (const index of [0, 1]) writeFileSync(join(folder, "sys", limitFile(index)), "300000000");
  const after = await startAgent(folder);
  await after.enforce(noTarget);
  await after.close();
  expect(limits()).toEqual(["300000000", "300000000"]);
  expect([...after.journal.entries()]).toEqual([]);
});
