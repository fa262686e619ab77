// npm run screenshots: pictures and a recording of the dashboard for docs/images, from a running demo.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { systemClock } from "../src/platform/clock/index.ts";
import { KubeClient, resources } from "../src/platform/kube/index.ts";
import { systemRandom } from "../src/platform/random/index.ts";
import { classNames, type Snapshot } from "../src/programs/dashboard/wire.ts";
import { openBrowser } from "../test/browser/browser.ts";
import { type RunningDemo, startDemo } from "../test/browser/demo-process.ts";
import { animated, type Frame, recompressed } from "./screenshots/png.ts";
import { buildWebIfOld } from "./web.ts";

const folder = join(import.meta.dirname, "../docs/images");
const PICTURE_LIMIT = 300_000;
const RECORDING_LIMIT = 1_500_000;
/** Until the demo has half an hour of history, and nodes are asleep. */
const WARM_UP_MS = 45_000;
/** Until a change has come to the page. */
const STEP_MS = 500;

const save = (name: string, bytes: Buffer, limit: number): void => {
  if (bytes.length > limit) throw new Error(`${name} has ${bytes.length} bytes, more than ${limit}`);
  writeFileSync(join(folder, name), bytes);
  console.log(`docs/images/${name}: ${Math.round(bytes.length / 1000)} KB`);
};

const snapshotOf = async ({ url }: RunningDemo): Promise<Snapshot> =>
  (await (await fetch(`${url}/api/snapshot`)).json()) as Snapshot;

/** Pins busy performance nodes to eco, as `joulie pin` does, until one of them drains. */
async function beginDrain(demo: RunningDemo): Promise<void> {
  const transport = await demo.connect();
  const client = new KubeClient({ transport, clock: systemClock, random: systemRandom, fieldManager: "a-person" });
  const pinned = new Set<string>();
  try {
    for (let attempt = 0; attempt < 120; attempt++) {
      const { names, columns, totals } = await snapshotOf(demo);
      if ((totals.byClass[classNames.indexOf("draining")] ?? 0) > 0) return;
      const busy = names.filter((name, slot) => name !== null && (columns.performancePods[slot] ?? 0) > 1);
      const next = busy.find((name) => name !== null && !pinned.has(name));
      if (pinned.size < 2 && typeof next === "string") {
        pinned.add(next);
        await client.create(resources.nodePowerProfiles, {
          metadata: { name: next },
          spec: { nodeName: next, profile: "eco" },
        });
      }
      await sleep(STEP_MS);
    }
  } finally {
    await transport.close();
  }
  throw new Error("no node began to drain");
}

async function pictures({ url }: RunningDemo): Promise<void> {
  for (const [name, dark] of [
    ["dashboard-light.png", false],
    ["dashboard-dark.png", true],
  ] as const) {
    const { page, close } = await openBrowser({ width: 1440, height: 1180, dark });
    await page.goto(url);
    await page.getByTestId("status").getByText(/^Live/).waitFor();
    // Savings are read after a moment.
    await page.locator(".savings dl").waitFor();
    await sleep(STEP_MS);
    save(name, recompressed(await page.screenshot()), PICTURE_LIMIT);
    if (!dark) {
      await page.getByLabel("Filter").fill("class:performance gpu");
      await openFirstNode(page);
      await page.getByRole("dialog").getByRole("button", { name: "Score", exact: true }).click();
      await page.getByTestId("verdict").waitFor();
      await page.getByLabel("Filter").fill("");
      await sleep(STEP_MS);
      save("dashboard-node.png", recompressed(await page.screenshot()), PICTURE_LIMIT);
    }
    await close();
  }
}

/** Opens the first node of the map with the keyboard. */
async function openFirstNode(page: Page): Promise<void> {
  await page.getByRole("application").focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByText("Receipts of the agent").waitFor();
}

/** A tour: nodes change while the map shows classes and power, is zoomed, and opens a node. */
async function recording({ url }: RunningDemo): Promise<void> {
  const { page, close } = await openBrowser({ width: 1000, height: 720 });
  const frames: Frame[] = [];
  const film = async (count: number): Promise<void> => {
    for (let frame = 0; frame < count; frame++) {
      await sleep(STEP_MS);
      frames.push({ png: await page.screenshot(), milliseconds: STEP_MS });
    }
  };
  const colour = async (mode: string) => page.getByLabel("Colour by").selectOption(mode);
  await page.goto(url);
  await page.getByTestId("status").getByText(/^Live/).waitFor();
  await page.locator("section.plot canvas").waitFor();
  await page.evaluate("document.querySelector('section.plot').scrollIntoView()");
  await film(10);
  await colour("power");
  await film(4);
  await colour("used");
  await film(4);
  await colour("class");
  await film(4);
  await page.getByRole("button", { name: "Zoom in" }).click();
  await film(2);
  await page.getByRole("button", { name: "Fit" }).click();
  await film(1);
  await openFirstNode(page);
  await page.evaluate("document.querySelector('section.plot').scrollIntoView()");
  await film(5);
  await page.keyboard.press("Escape");
  await film(6);
  save("dashboard.apng", animated(frames), RECORDING_LIMIT);
  await close();
}

await buildWebIfOld();
mkdirSync(folder, { recursive: true });
const demo = await startDemo("--nodes", "40", "--speed", "60");
try {
  await sleep(WARM_UP_MS);
  await beginDrain(demo);
  await pictures(demo);
  await recording(demo);
} finally {
  await demo.stop();
}
