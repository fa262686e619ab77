import { expect, it } from "vitest";
import { systemClock } from "../../../platform/clock/index.ts";
import { createLogger } from "../../../platform/log/index.ts";
import { ClassChangeLog } from "../state/class-changes.ts";
import { ExtenderDecisions } from "./extender-decisions.ts";
import type { ProgramPages } from "./program-pages.ts";

const log = createLogger({ level: "silent", program: "test" });
const decision = (replica: string, number: number) => ({
  at: new Date(Date.UTC(2030, 0, 1) + number * 1000).toISOString(),
  verb: "prioritize",
  pod: { namespace: "default", name: `${replica}-${number}` },
  workloadClass: "standard",
  candidates: 2,
  best: [{ node: "n1", score: 50 }],
});
/** What a page shows: the last 100, the newest first. */
const pageOf = (replica: string, newest: number) => ({
  decisions: Array.from({ length: Math.min(100, newest) }, (_, index) => decision(replica, newest - index)),
});

function reader(answers: () => readonly unknown[]) {
  const decisions = new ClassChangeLog(10_000);
  const pages = { read: async () => answers() } as unknown as ProgramPages;
  return { decisions, source: new ExtenderDecisions({ pages, decisions, clock: systemClock, log }) };
}

it("DSH-08 adds each placement once, also those that an idle replica remembers for long", async () => {
  let busy = 0;
  const { decisions, source } = reader(() => [pageOf("idle", 100), pageOf("busy", busy)]);
  for (; busy <= 2000; busy += 50) await source.read();
  const subjects = decisions.entries.map(({ subject }) => subject);
  // kube-scheduler may choose another node: it adds its own points.
  expect(decisions.entries[0]?.text).toBe("ranked first: n1");
  expect(subjects.filter((subject) => subject.startsWith("default/idle-"))).toHaveLength(100);
  expect(new Set(subjects).size).toBe(subjects.length);
  expect(subjects.filter((subject) => subject.startsWith("default/busy-"))).toHaveLength(2000);
});

it("DSH-08 shows the placements of a replica beside one that answers something else", async () => {
  const { decisions, source } = reader(() => [{ message: "starting" }, pageOf("good", 1)]);
  await source.read();
  expect(decisions.entries.map(({ subject }) => subject)).toEqual(["default/good-1"]);
});
