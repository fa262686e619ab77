// An agent that is killed at any file operation of a complete cap and restore cycle: the next start repairs the state. SIGKILL
// keeps what has been written, so a copy of the files at an operation is what a kill there leaves behind. One process makes all
// copies, because 200 processes took a minute; some processes are killed to show that the copies are exact.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundle } from "../../scripts/bundle.ts";
import { noTarget, type Phase, phases, shape, startAgent } from "./cap-lifecycle.ts";
import { createMachineFiles, differences, readTree } from "./machine-files.ts";

const scratch = mkdtempSync(join(tmpdir(), "joulie-agent-kill-"));
const program = join(scratch, "child.mjs");
const pristine = join(scratch, "pristine");
const steps = [...phases, noTarget];
/** The machine's files after each phase of a run without a kill. */
const undisturbed: ReadonlyMap<string, string>[] = [];
let originals: ReadonlyMap<string, string>;
let operations: readonly string[];
const copies = join(scratch, "copies");
/** Every so many operations a process is killed. A prime, so that all kinds of operations have their turn. */
const KILL_EVERY = 7;
const MINUTES = { timeout: 300_000 };

beforeAll(async () => {
  await bundle(program, fileURLToPath(import.meta.resolve("./kill-child.ts")));
  createMachineFiles(pristine, shape);
  originals = readTree(join(pristine, "sys"));
  const folder = newMachine("undisturbed");
  const agent = await startAgent(folder);
  for (const phase of steps) {
    await agent.enforce(phase);
    undisturbed.push(readTree(join(folder, "sys")));
  }
  await agent.close();
  const counted = newMachine("counted");
  mkdirSync(copies);
  const [code] = await run(counted, ["copy", copies]);
  if (code !== 0) throw new Error(`the cycle ended with ${String(code)}`);
  operations = JSON.parse(readFileSync(join(counted, "operations"), "utf8")) as string[];
});
afterAll(() => rmSync(scratch, { recursive: true }));

function newMachine(name: string, from = pristine): string {
  const folder = join(scratch, name);
  // Copies links verbatim, because they are relative to the tree.
  cpSync(from, folder, { recursive: true, verbatimSymlinks: true });
  return folder;
}

/** Runs a process through the cycle. Returns its exit code and signal. */
async function run(folder: string, how: readonly string[]): Promise<unknown[]> {
  const child = spawn(process.execPath, [program, folder, ...how], { stdio: ["ignore", "ignore", "inherit"] });
  return once(child, "exit");
}

/** Starts an agent on the files of a killed one. Returns the files and the journalled originals afterwards. */
async function startOn(
  folder: string,
  phase: Phase,
  variables: Readonly<Record<string, string>> = {},
): Promise<{ tree: ReadonlyMap<string, string>; originals: string[] }> {
  const agent = await startAgent(folder, variables);
  await agent.enforce(phase);
  await agent.close();
  const journalled = Array.from(agent.journal.entries(), ({ original }) => original);
  return { tree: readTree(join(folder, "sys")), originals: journalled };
}

/** Differences after a start without a target, after one with the target, and after one that only observes it. */
async function faults(folder: string): Promise<readonly string[]> {
  const index = Number(readFileSync(join(folder, "phase"), "utf8"));
  const still = newMachine(`${basename(folder)}-still`, folder);
  const seen = newMachine(`${basename(folder)}-seen`, folder);
  const restored = await startOn(folder, noTarget);
  const observed = await startOn(seen, steps[index] ?? noTarget, { SIMULATE_ONLY: "true" });
  const enforced = await startOn(still, steps[index] ?? noTarget);
  const after = await startOn(still, noTarget);
  rmSync(folder, { recursive: true });
  rmSync(still, { recursive: true });
  rmSync(seen, { recursive: true });
  const should = undisturbed[index] ?? originals;
  return [
    ...differences(restored.tree, originals).map((what) => `target gone: ${what}`),
    ...restored.originals.map((what) => `target gone: still in the journal: ${what}`),
    ...differences(observed.tree, originals).map((what) => `observing: ${what}`),
    ...observed.originals.map((what) => `observing: still in the journal: ${what}`),
    ...differences(enforced.tree, should).map((what) => `target there: ${what}`),
    ...differences(after.tree, originals).map((what) => `target there, then gone: ${what}`),
  ];
}

/** Starts agents on the files at each of these operations. Returns all faults. */
async function faultsAtEach(points: readonly number[], when: "before" | "torn"): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const point of points) {
    const found = await faults(join(copies, `${when}-${point}`));
    wrong.push(...found.map((what) => `killed ${when} operation ${point}, ${operations[point - 1]}: ${what}`));
  }
  return wrong;
}

/** Kills processes at these operations. Returns what differs from the copies. */
async function differencesOfKills(points: readonly number[], when: "before" | "torn"): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const point of points) {
    const folder = newMachine(`killed-${when}-${point}`);
    const [code, signal] = await run(folder, ["kill", String(point), when]);
    if (signal !== "SIGKILL") wrong.push(`operation ${point}: it ended with ${String(code)}`);
    const found = differences(readTree(folder), readTree(join(copies, `${when}-${point}`)));
    wrong.push(...found.map((what) => `killed ${when} operation ${point}, ${operations[point - 1]}: ${what}`));
  }
  return wrong;
}

describe("an agent that is killed", MINUTES, () => {
  const all = (): number[] => operations.map((_, index) => index + 1);
  const journalWrites = (): number[] => all().filter((point) => operations[point - 1] === "journal");

  it("leaves the files that a copy at the same operation shows", async () => {
    expect(
      await differencesOfKills(
        all().filter((point) => point % KILL_EVERY === 1),
        "before",
      ),
    ).toEqual([]);
    expect(await differencesOfKills(journalWrites().slice(-2), "torn")).toEqual([]);
  });

  it("X-42 X-59 X-91 before any operation restores the originals without a target or with SIMULATE_ONLY, and enforces a target that is still there", async ({
    annotate,
  }) => {
    const points = all();
    const wrong = await faultsAtEach(points, "before");
    await annotate(`${points.length} kill points, ${wrong.length} faults`);
    process.stdout.write(`kill points: ${points.length}\n`);
    expect(wrong).toEqual([]);
    expect(points.length).toBeGreaterThan(100);
  });

  it("X-59 X-91 in the middle of each journal write recovers in the same way", async () => {
    const points = journalWrites();
    expect(await faultsAtEach(points, "torn")).toEqual([]);
    expect(points.length).toBeGreaterThan(5);
  });
});
