// The dashboard's page with 5,000 nodes in chromium: first paint, frames while it is panned and changes arrive, size.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { buildWebIfOld } from "../scripts/web.ts";
import { milliseconds } from "../src/core/units/index.ts";
import { systemClock } from "../src/platform/clock/index.ts";
import { DashboardHarness } from "../src/programs/dashboard/testing/dashboard-harness.ts";
import { openBrowser } from "../test/browser/browser.ts";
import type { BenchFigure, Scenario } from "./scenario.ts";

const NODES = 5000;
const RACKS = 125;
/** Twins that change per second, in batches: about what the operator's heartbeats and the agents' readings cause. */
const CHANGES_PER_SECOND = 100;
const PAN_SECONDS = 8;
const page = join(import.meta.dirname, "../dist/dashboard");

const nameOf = (index: number): string => `node-${String(index).padStart(4, "0")}`;
const classes = ["performance", "eco", "eco", "draining"] as const;

let harness: DashboardHarness | undefined;

async function prepared(): Promise<DashboardHarness> {
  if (harness !== undefined) return harness;
  await buildWebIfOld();
  const made = await DashboardHarness.begin();
  for (let from = 0; from < NODES; from += 100)
    await Promise.all(
      Array.from({ length: 100 }, async (_, at) => {
        const index = from + at;
        const rack = `rack-${String(index % RACKS).padStart(3, "0")}`;
        await made.createNode(nameOf(index), { rack, class: classes[index % 4] ?? "eco", power: 200 + (index % 200) });
      }),
    );
  await made.start();
  await made.until(({ syncing, totals }) => syncing.length === 0 && totals.nodes === NODES);
  harness = made;
  return made;
}

/** Changes twins until it is aborted. */
async function change(made: DashboardHarness, signal: AbortSignal): Promise<void> {
  for (let turn = 0; !signal.aborted; turn++) {
    const batch = Array.from({ length: CHANGES_PER_SECOND / 4 }, (_, at) => (turn * 37 + at * 199) % NODES);
    await Promise.all(
      batch.map(async (index) =>
        made.setTwin(nameOf(index), {
          class: classes[(index + turn) % 4] ?? "eco",
          power: 200 + ((index + turn) % 200),
        }),
      ),
    );
    await systemClock.sleep(milliseconds(250), signal).catch(() => undefined);
  }
}

/** Records the time between frames; text, because this project's types know no window. */
const recordFrames = `
  window.__frames = [];
  let last = performance.now();
  const step = (now) => { window.__frames.push(now - last); last = now; requestAnimationFrame(step); };
  requestAnimationFrame(step);
`;

async function measure(): Promise<Record<string, BenchFigure>> {
  const made = await prepared();
  const browser = await openBrowser({ width: 1600, height: 1000 });
  const changing = new AbortController();
  try {
    const { page: tab } = browser;
    const changes = change(made, changing.signal);
    await tab.goto(made.url, { waitUntil: "commit" });
    await tab.getByTestId("shown").getByText(String(NODES), { exact: true }).waitFor();
    const all = await tab.evaluate<number>("performance.now()");
    const paint = await tab.evaluate<number>(
      "performance.getEntriesByType('paint').find(({ name }) => name === 'first-contentful-paint').startTime",
    );
    await systemClock.sleep(milliseconds(2000));
    await tab.getByRole("button", { name: "Zoom in" }).click();
    await tab.evaluate(recordFrames);
    const box = await tab.getByRole("application").boundingBox();
    if (box === null) throw new Error("the map has no place");
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await tab.mouse.move(x, y);
    await tab.mouse.down();
    const begun = systemClock.monotonic();
    for (let turn = 0; systemClock.monotonic() - begun < PAN_SECONDS * 1000; turn++)
      await tab.mouse.move(x + 200 * Math.sin(turn / 20), y + 120 * Math.cos(turn / 20));
    await tab.mouse.up();
    const frames = (await tab.evaluate<number[]>("window.__frames")).slice(1).toSorted((one, other) => one - other);
    changing.abort();
    await changes;
    return {
      "first paint": { unit: "ms", value: paint },
      "all nodes shown": { unit: "ms", value: all },
      "frame time p50": { unit: "ms", value: frames[Math.floor(frames.length * 0.5)] ?? Number.NaN },
      "frame time p95": { unit: "ms", value: frames[Math.floor(frames.length * 0.95)] ?? Number.NaN },
      "frame time p99": { unit: "ms", value: frames[Math.floor(frames.length * 0.99)] ?? Number.NaN },
      "gzipped in all": { unit: "KB", value: gzippedBytes() / 1000 },
    };
  } finally {
    changing.abort();
    await browser.close();
  }
}

const gzippedBytes = (): number =>
  readdirSync(page, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce(
      (sum, { parentPath, name }) => sum + gzipSync(readFileSync(join(parentPath, name)), { level: 9 }).length,
      0,
    );

export const scenario: Scenario = {
  about: `The dashboard with ${NODES} nodes in ${RACKS} racks; ${CHANGES_PER_SECOND} twins change per second while the map is panned.`,
  repeats: 3,
  measure,
  goals: [
    { says: "first paint in ms", of: (figures) => figures["first paint"] ?? Number.NaN, atMost: 2000 },
    { says: "all nodes shown in ms", of: (figures) => figures["all nodes shown"] ?? Number.NaN, atMost: 2000 },
    { says: "frame time p95 in ms", of: (figures) => figures["frame time p95"] ?? Number.NaN, atMost: 32 },
    { says: "KB gzipped", of: (figures) => figures["gzipped in all"] ?? Number.NaN, atMost: 120 },
  ],
  close: async () => harness?.end(),
};
