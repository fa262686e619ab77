import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";

const CONTENDERS = 4;
const ROUNDS = 25;
/** Concurrent contenders may all withdraw; each take is a new attempt. */
const TAKES = 20;

const folder = mkdtempSync(join(tmpdir(), "joulie-lock-race-"));
const children = new Set<ChildProcess>();
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

interface Contender {
  readonly child: ChildProcess;
  ask(what: "take" | "release"): Promise<string>;
}

function contender(): Contender {
  const program = fileURLToPath(import.meta.resolve("./testing/lock-contender.ts"));
  const child = spawn(process.execPath, [program, folder], { stdio: ["pipe", "pipe", "inherit"] });
  children.add(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ask = async (what: string): Promise<string> => {
    child.stdin.write(`${what}\n`);
    return String((await lines.next()).value);
  };
  return { child, ask };
}

async function kill({ child }: Contender): Promise<void> {
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
  children.delete(child);
}

describe("a folder whose owner was killed", () => {
  it("is locked by exactly one of many processes that start at once", async () => {
    const contenders = Array.from({ length: CONTENDERS }, contender);
    const ownersByRound: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      let owners: readonly Contender[] = [];
      for (let take = 0; take < TAKES && owners.length === 0; take++) {
        const answers = await Promise.all(contenders.map(async (one) => one.ask("take")));
        owners = contenders.filter((_, place) => answers[place] === "owner");
      }
      ownersByRound.push(owners.length);
      // The owner is killed, and another process takes the lock.
      await Promise.all(owners.map(kill));
      for (const owner of owners) contenders[contenders.indexOf(owner)] = contender();
    }
    expect(ownersByRound).toEqual(Array.from({ length: ROUNDS }, () => 1));
  });
});
