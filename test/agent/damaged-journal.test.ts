// A journal that is damaged on the disk while caps are in force: the agent never guesses an original.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { noTarget, phases, shape, startAgent } from "./cap-lifecycle.ts";
import { createMachineFiles, differences, readTree } from "./machine-files.ts";

const scratch = mkdtempSync(join(tmpdir(), "joulie-agent-torn-"));
const CURRENT = "originals.json";
const PREVIOUS = "originals.previous.json";
/** Number of positions to damage in each file, from the first byte to the last. */
const PLACES = 6;
let originals: ReadonlyMap<string, string>;

beforeAll(async () => {
  createMachineFiles(join(scratch, "pristine"), shape);
  originals = readTree(join(scratch, "pristine/sys"));
  // Caps are enforced, as after a SIGKILL.
  for (const [name, count] of [
    ["capped", 1],
    ["throttled", 2],
  ] as const) {
    const folder = copy("pristine", name);
    const agent = await startAgent(folder);
    for (const phase of phases.slice(0, count)) await agent.enforce(phase);
  }
});
afterAll(() => rmSync(scratch, { recursive: true }));

function copy(from: string, to: string): string {
  const folder = join(scratch, to);
  rmSync(folder, { recursive: true, force: true });
  cpSync(join(scratch, from), folder, { recursive: true, verbatimSymlinks: true });
  return folder;
}

type Damage = (bytes: Buffer, place: number) => Buffer;
const cut: Damage = (bytes, place) => bytes.subarray(0, place);
const flipped: Damage = (bytes, place) => {
  const other = Buffer.from(bytes);
  other[place] = (other[place] ?? 0) ^ 1;
  return other;
};

function damage(folder: string, files: readonly string[], how: Damage, part: number): void {
  for (const name of files) {
    const file = join(folder, "state", name);
    const bytes = readFileSync(file);
    // Excludes the final newline, which carries no data.
    writeFileSync(file, how(bytes, Math.floor((part * (bytes.length - 2)) / (PLACES - 1))));
  }
}

const inForce = (of: string): number => (of === "capped" ? 0 : 1);
const boards = (agent: Awaited<ReturnType<typeof startAgent>>) =>
  Array.from(agent.journal.entries(), ({ backend, board, original }) => `${backend} ${board} ${original}`);

describe.each(["capped", "throttled"])("a node that is %s, with damage in", (state) => {
  describe.each([
    ["the current journal file", [CURRENT]],
    ["the previous journal file", [PREVIOUS]],
    ["both journal files", [CURRENT, PREVIOUS]],
  ] as const)("%s", (which, files) => {
    it.each([
      ["a truncated file", cut],
      ["one flipped bit", flipped],
    ] as const)(
      "X-59 X-91 %s: restores or reports the damage, and never takes its own cap for an original",
      async (_, how) => {
        const known = await startAgent(copy(state, "known"));
        const truth = boards(known);
        await known.close();
        for (let part = 0; part < PLACES; part++) {
          const folder = copy(state, "damaged");
          damage(folder, files, how, part);
          const still = copy("damaged", "still");

          const agent = await startAgent(folder);
          const isReported = agent.problems.length > 0;
          await agent.enforce(noTarget);
          await agent.close();
          const left = differences(readTree(join(folder, "sys")), originals);
          expect(isReported).toBe(true);

          const other = await startAgent(still);
          const before = readTree(join(still, "sys"));
          const tick = await other.enforce(phases[inForce(state)] ?? noTarget);
          // With both files damaged it changes nothing and says why; one intact file is enough to restore everything.
          const reports = [tick?.cpu, tick?.gpu];
          const refused = reports.every((one) => one?.result === "blocked" && one.message?.includes("damaged.json"));
          const nothingKnown = which === "both journal files";
          expect({ part, restored: left.length === 0, refused }).toEqual({
            part,
            restored: !nothingKnown,
            refused: nothingKnown,
          });
          expect(truth, `${part}`).toEqual(expect.arrayContaining(boards(other)));
          expect(differences(readTree(join(still, "sys")), before)).toEqual([]);
          await other.close();
        }
      },
    );
  });
});
