import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock/index.ts";
import { removeFoldersOfTheDead } from "./harness.ts";
import { ownerMark } from "./owner.ts";

const within = mkdtempSync(join(tmpdir(), "joulie-harness-"));
afterEach(() => rmSync(within, { recursive: true, force: true }));

it("removes only the folders of processes that have ended", () => {
  const [dead, mine, theirs] = [ownerMark(2 ** 30), ownerMark(), `${2 ** 30}-elsewhere-0`].map(
    (mark) => `joulie-controlplane-${mark}-abc`,
  ) as [string, string, string];
  for (const name of [dead, mine, theirs, "another"]) mkdirSync(join(within, name, "etcd"), { recursive: true });
  removeFoldersOfTheDead(within);
  expect(readdirSync(within).toSorted()).toEqual(["another", mine, theirs].toSorted());
  removeFoldersOfTheDead(within, systemClock.now() + 25 * 3_600_000);
  expect(readdirSync(within).toSorted()).toEqual(["another", mine].toSorted());
});
