// A journal whose bytes were lost or changed on the disk while caps are in force: what is not known is not made up.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { noTarget, phases, shape, startAgent } from "./cap-lifecycle.ts";
import { differences, layMachine, treeOf } from "./machine-files.ts";

const scratch = mkdtempSync(join(tmpdir(), "joulie-agent-torn-"));
const CURRENT = "originals.json";
const PREVIOUS = "originals.previous.json";
/** Places in each file, from its first byte to its last. */
const PLACES = 6;
let originals: ReadonlyMap<string, string>;

beforeAll(async () => {
  layMachine(join(scratch, "pristine"), shape);
  originals = treeOf(join(scratch, "pristine/sys"));
  // Caps in force, as a kill leaves them.
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
    // The line end is not part of what it says.
    writeFileSync(file, how(bytes, Math.floor((part * (bytes.length - 2)) / (PLACES - 1))));
  }
}

const inForce = (of: string): number => (of === "capped" ? 0 : 1);
const boards = (agent: Awaited<ReturnType<typeof startAgent>>) =>
  Array.from(agent.journal.entries(), ({ backend, board, original }) => `${backend} ${board} ${original}`);

describe.each(["capped", "throttled"])("%s, with a journal whose", (state) => {
  describe.each([
    ["newest file", [CURRENT]],
    ["file before", [PREVIOUS]],
    ["files both", [CURRENT, PREVIOUS]],
  ] as const)("%s", (which, files) => {
    it.each([
      ["ended early", cut],
      ["had one bit wrong", flipped],
    ] as const)(
      "X-59 X-91 %s: restores, or says what it does not know, and never takes a cap of its own for an original",
      async (_, how) => {
        const known = await startAgent(copy(state, "known"));
        const truth = boards(known);
        await known.close();
        for (let part = 0; part < PLACES; part++) {
          const folder = copy(state, "damaged");
          damage(folder, files, how, part);
          const still = copy("damaged", "still");

          const agent = await startAgent(folder);
          const told = agent.problems.length > 0;
          await agent.enforce(noTarget);
          await agent.close();
          const left = differences(treeOf(join(folder, "sys")), originals);
          expect(told).toBe(true);

          const other = await startAgent(still);
          const before = treeOf(join(still, "sys"));
          const tick = await other.enforce(phases[inForce(state)] ?? noTarget);
          // With nothing left to go by it leaves the machine as it is, and says why; with anything left it knows all.
          const reports = [tick?.cpu, tick?.gpu];
          const refused = reports.every((one) => one?.result === "blocked" && one.message?.includes("damaged.json"));
          const nothingKnown = which === "files both";
          expect({ part, restored: left.length === 0, refused }).toEqual({
            part,
            restored: !nothingKnown,
            refused: nothingKnown,
          });
          expect(truth, `${part}`).toEqual(expect.arrayContaining(boards(other)));
          expect(differences(treeOf(join(still, "sys")), before)).toEqual([]);
          await other.close();
        }
      },
    );
  });
});
