// SIGKILL at every single file operation of a whole cap/uncap cycle: what the next start finds, it puts right.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundle } from "../../scripts/bundle.ts";
import { noTarget, type Phase, phases, shape, startAgent } from "./cap-lifecycle.ts";
import { differences, layMachine, treeOf } from "./machine-files.ts";

const scratch = mkdtempSync(join(tmpdir(), "joulie-agent-kill-"));
const program = join(scratch, "child.mjs");
const pristine = join(scratch, "pristine");
const steps = [...phases, noTarget];
/** How a run that nobody disturbs leaves the machine after each phase. */
const undisturbed: ReadonlyMap<string, string>[] = [];
let originals: ReadonlyMap<string, string>;
let operations: readonly string[];
/** Processes at once. */
const AT_ONCE = 2;
const MINUTES = { timeout: 300_000 };

beforeAll(async () => {
  await bundle(program, fileURLToPath(import.meta.resolve("./kill-child.ts")));
  layMachine(pristine, shape);
  originals = treeOf(join(pristine, "sys"));
  const folder = newMachine("undisturbed");
  const agent = await startAgent(folder);
  for (const phase of steps) {
    await agent.enforce(phase);
    undisturbed.push(treeOf(join(folder, "sys")));
  }
  await agent.close();
  const counted = newMachine("counted");
  const [code] = await run(counted, 0);
  if (code !== 0) throw new Error(`the cycle ended with ${String(code)}`);
  operations = JSON.parse(readFileSync(join(counted, "operations"), "utf8")) as string[];
}, 60_000);
afterAll(() => rmSync(scratch, { recursive: true }));

function newMachine(name: string, from = pristine): string {
  const folder = join(scratch, name);
  // Links as they are: they lead from one place of the tree to another.
  cpSync(from, folder, { recursive: true, verbatimSymlinks: true });
  return folder;
}

/** Exit code and signal of a process that goes through the cycle and is killed at one of its operations. */
async function run(folder: string, killAt: number, how = ""): Promise<unknown[]> {
  const child = spawn(process.execPath, [program, folder, String(killAt), how], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { NODE_COMPILE_CACHE: join(scratch, "cache") },
  });
  return once(child, "exit");
}

/** A start after the end of another: what it leaves, and what it still knows. */
async function startOn(folder: string, phase: Phase): Promise<{ tree: ReadonlyMap<string, string>; kept: string[] }> {
  const agent = await startAgent(folder);
  await agent.enforce(phase);
  await agent.close();
  const kept = Array.from(agent.journal.entries(), ({ original }) => original);
  return { tree: treeOf(join(folder, "sys")), kept };
}

/** What is wrong after both kinds of start: with the target gone, and with it still there. */
async function faults(folder: string): Promise<readonly string[]> {
  const index = Number(readFileSync(join(folder, "phase"), "utf8"));
  const still = newMachine(`${folder.slice(scratch.length + 1)}-still`, folder);
  const restored = await startOn(folder, noTarget);
  const enforced = await startOn(still, steps[index] ?? noTarget);
  const after = await startOn(still, noTarget);
  rmSync(folder, { recursive: true });
  rmSync(still, { recursive: true });
  const should = undisturbed[index] ?? originals;
  return [
    ...differences(restored.tree, originals).map((what) => `target gone: ${what}`),
    ...restored.kept.map((what) => `target gone: still kept: ${what}`),
    ...differences(enforced.tree, should).map((what) => `target there: ${what}`),
    ...differences(after.tree, originals).map((what) => `target there, then gone: ${what}`),
  ];
}

/** Kills at all these operations; what was wrong after which. */
async function killAtEach(points: readonly number[], how: string): Promise<readonly string[]> {
  const wrong: string[] = [];
  const queue = points.values();
  const worker = async () => {
    for (const point of queue) {
      const folder = newMachine(`${how}-${point}`);
      const [code, signal] = await run(folder, point, how);
      const found = signal === "SIGKILL" ? await faults(folder) : [`it ended with ${String(code)}`];
      wrong.push(...found.map((what) => `killed ${how} operation ${point}, ${operations[point - 1]}: ${what}`));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return wrong;
}

describe("an agent that is killed", MINUTES, () => {
  it("X-59 X-91 before any operation: originals come back with the target gone, the target holds while it is there", async ({
    annotate,
  }) => {
    const points = operations.map((_, index) => index + 1);
    const wrong = await killAtEach(points, "before");
    await annotate(`${points.length} kill points, ${wrong.length} faults`);
    process.stdout.write(`kill points: ${points.length}\n`);
    expect(wrong).toEqual([]);
    expect(points.length).toBeGreaterThan(100);
  });

  it("X-59 X-91 in the middle of each write to the journal", async () => {
    const points = operations.flatMap((what, index) => (what === "journal" ? [index + 1] : []));
    expect(await killAtEach(points, "torn")).toEqual([]);
    expect(points.length).toBeGreaterThan(5);
  });
});
