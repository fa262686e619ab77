// The dashboard's page in chromium, on an embedded API that the tests change.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { DashboardHarness } from "../../src/programs/dashboard/testing/dashboard-harness.ts";
import { type OpenBrowser, openBrowser } from "./browser.ts";
import { renamingTransport } from "./renaming-transport.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const NODES = 24;

let harness: DashboardHarness;
let browser: OpenBrowser;
let page: Page;

beforeAll(async () => {
  harness = await DashboardHarness.begin();
  for (let index = 0; index < NODES; index++)
    await harness.createNode(`node-${String(index).padStart(2, "0")}`, {
      rack: `rack-${index % 3}`,
      class: index % 4 === 0 ? "performance" : "eco",
      power: 200 + index,
    });
  await harness.createNode("node-drain", { rack: "rack-0", class: "draining" });
  await harness.createPod("batch", "node-drain", "performance");
  await harness.createPod("web", "node-00", "performance");
});
afterAll(async () => harness.end());

beforeEach(async () => {
  await harness.start();
  browser = await openBrowser();
  page = browser.page;
  await page.goto(harness.url);
  await page
    .getByTestId("shown")
    .getByText(String(NODES + 1), { exact: true })
    .waitFor();
});
afterEach(async () => {
  await browser.close();
  await harness.stop();
});

const status = () => page.getByTestId("status");
const drawer = () => page.getByRole("dialog");
const map = () => page.getByRole("application");
// Texts: this project's types know no document.
const hasFocus = async () => page.evaluate<boolean>("document.activeElement?.getAttribute('role') === 'application'");
const theme = async () => page.evaluate<string>("document.documentElement.dataset.theme");

/** Serious findings of axe, in words. */
async function axeFindings(): Promise<string[]> {
  // Not addScriptTag: the page's content security policy forbids inline scripts, and it applies to tests as well.
  const client = await browser.context.newCDPSession(page);
  await client.send("Runtime.evaluate", { expression: axe });
  const { result } = await client.send("Runtime.evaluate", {
    expression:
      "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.map(({ html }) => html.slice(0, 160)) })))",
    awaitPromise: true,
    returnByValue: true,
  });
  const found = result.value as readonly { id: string; impact: string; nodes: string[] }[];
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.join(" ")}`);
}

describe("the dashboard in a browser", () => {
  it("DSH-10 loads without a complaint of the browser, and shows power, classes, drains and the model as a model", async () => {
    await status().getByText(/^Live/).waitFor();
    expect(await page.getByTestId("power-now").textContent()).toMatch(/kW$/);
    await page.getByText("waiting for 1 performance pod, nothing is evicted").first().waitFor();
    await page.getByText(/^Model: same pods, no caps, all nodes on/).waitFor();
    await page.getByText("a model, not a measurement").waitFor();
    expect(browser.complaints).toEqual([]);
  });

  it("DSH-10 shows changes without a reload", async () => {
    await harness.setTwin("node-01", { class: "eco", power: 9000, cap: 9500, tdp: 9900 });
    await expect
      .poll(async () => page.getByTestId("power-now").textContent(), { timeout: 8000 })
      .toMatch(/^1[0-9]\.\d kW$/);
    await harness.setTwin("node-01", { class: "eco", power: 201 });
  });

  it("DSH-11 opens a node from the map, with receipts, pods and a score", async () => {
    const box = await map().boundingBox();
    if (box === null) throw new Error("the map has no place");
    // The first tile of the first group lies at a place that depends on the size: find it with the tip.
    let found = false;
    for (let y = box.y + 20; y < box.y + box.height && !found; y += 20)
      for (let x = box.x + 20; x < box.x + box.width && !found; x += 20) {
        await page.mouse.move(x, y);
        if (await page.locator(".tip").isVisible()) {
          await page.mouse.down();
          await page.mouse.up();
          found = true;
        }
      }
    await drawer().waitFor();
    await drawer().getByText("cap written and read back").waitFor();
    await drawer().getByRole("button", { name: "Score", exact: true }).click();
    await drawer().getByTestId("verdict").waitFor();
    expect(await drawer().getByTestId("verdict").textContent()).toMatch(/Score \d+, place \d+ of \d+ nodes/);
    await page.keyboard.press("Escape");
    await drawer().waitFor({ state: "detached" });
  });

  it("DSH-12 works with the keyboard alone, with one tab stop for the map", async () => {
    await page.getByLabel("Filter").focus();
    for (let tabs = 0; tabs < 12 && !(await hasFocus()); tabs++) await page.keyboard.press("Tab");
    expect(await hasFocus()).toBe(true);
    const focused = async () => page.getByTestId("map-focus").textContent();
    await page.keyboard.press("ArrowRight");
    const first = await focused();
    await page.keyboard.press("ArrowRight");
    const second = await focused();
    expect([first, second].every((text) => /^node-\S+: \w+, /.test(text ?? ""))).toBe(true);
    expect(second).not.toBe(first);
    await page.keyboard.press("ArrowDown");
    expect(await focused()).not.toBe(second);
    await page.keyboard.press("Home");
    const opened = (await focused())?.split(":")[0];
    await page.keyboard.press("Enter");
    await drawer()
      .getByRole("heading", { name: opened ?? "" })
      .waitFor();
    await page.keyboard.press("Escape");
    await drawer().waitFor({ state: "detached" });
    // The focus returns to the map, and the next tab leaves it.
    expect(await hasFocus()).toBe(true);
    await page.keyboard.press("Tab");
    expect(await hasFocus()).toBe(false);
  });

  it("DSH-12 shows the same nodes in a table that can be sorted", async () => {
    await page.getByRole("button", { name: "Table" }).click();
    await page.getByRole("button", { name: "Power", exact: true }).click();
    const table = page.getByRole("region", { name: "Table of nodes" }).getByRole("table");
    const names = table.locator("tbody tr:not(.spacer) td:first-child");
    await expect
      .poll(async () => (await names.allTextContents()).slice(0, 3))
      .toEqual(["node-drain", "node-23", "node-22"]);
    await names.nth(1).getByRole("button").click();
    await drawer().getByRole("heading", { name: "node-23" }).waitFor();
  });

  it("DSH-11 filters by name, class and group", async () => {
    const shown = async (text: string) => {
      await page.getByLabel("Filter").fill(text);
      return page.getByTestId("shown").textContent();
    };
    expect(await shown("node-1")).toBe("10 of 25");
    expect(await shown("class:perf")).toBe("6 of 25");
    await expect.poll(async () => shown("group:rack-1")).toBe("8 of 25");
    expect(await shown("class:eco -node-0")).toBe("11 of 25");
    expect(await shown("nothing")).toBe("0 of 25");
    await page.getByText("No node matches.").waitFor();
  });

  it("DSH-11 zooms and pans", async () => {
    const pixels = async () => page.evaluate<string>("document.querySelector('.map canvas').toDataURL()");
    const before = await pixels();
    await page.getByRole("button", { name: "Zoom in" }).click();
    await page.getByRole("button", { name: "Zoom in" }).click();
    await expect.poll(pixels).not.toBe(before);
    const zoomed = await pixels();
    const box = await map().boundingBox();
    if (box === null) throw new Error("the map has no place");
    await page.mouse.move(box.x + 200, box.y + 150);
    await page.mouse.down();
    await page.mouse.move(box.x + 60, box.y + 40, { steps: 5 });
    await page.mouse.up();
    await expect.poll(pixels).not.toBe(zoomed);
    expect(await drawer().count()).toBe(0);
  });

  it("DSH-13 has a light and a dark theme, and axe finds no serious violation in either", async () => {
    await status().getByText(/^Live/).waitFor();
    expect(await axeFindings()).toEqual([]);
    await page.getByRole("button", { name: "Use the dark theme" }).click();
    expect(await theme()).toBe("dark");
    expect(await axeFindings()).toEqual([]);
    await page.getByRole("button", { name: "Table" }).click();
    await page.getByRole("button", { name: "node-05", exact: true }).click();
    await drawer().getByText("cap written and read back").waitFor();
    expect(await axeFindings()).toEqual([]);
    await page.reload();
    await status().getByText(/^Live/).waitFor();
    expect(await theme()).toBe("dark");
  });

  it("DSH-14 says so when the server is gone, keeps the last data with its age, and continues after a restart", async () => {
    await status().getByText(/^Live/).waitFor();
    const { port } = new URL(harness.url);
    await harness.stop();
    await status()
      .getByText(/^Not live: .* Data is \d+ s old; trying again\.$/)
      .waitFor();
    expect(await page.getByTestId("shown").textContent()).toBe("25");
    await harness.setTwin("node-02", { class: "eco", power: 9000, cap: 9500, tdp: 9900 });
    await harness.start({ DASHBOARD_ADDR: `127.0.0.1:${port}` });
    await status().getByText(/^Live/).waitFor({ timeout: 30_000 });
    await expect
      .poll(async () => page.getByTestId("power-now").textContent(), { timeout: 8000 })
      .toMatch(/^1[0-9]\.\d kW$/);
    await harness.setTwin("node-02", { class: "eco", power: 202 });
    expect(browser.complaints).toEqual([]);
  });
});

describe("hostile names", () => {
  const names = {
    "node-05": '<img src=x onerror="document.title=\'broken\'"><script>document.title="broken"</script>',
    "node-06": `long-${"x".repeat(3000)}`,
    "node-07": "\u202eevil\u202c-שלום-\u0000\u0007",
  } as const;

  it("DSH-15 are shown as text, whatever they contain", async () => {
    await harness.stop();
    await harness.start({}, renamingTransport(harness.api.transport(), names));
    await page.goto(harness.url);
    await page.getByTestId("shown").getByText("25", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Table" }).click();
    for (const name of [names["node-05"], names["node-06"]]) {
      await page.getByLabel("Filter").fill(name.slice(0, 12));
      const button = page.locator("tbody .link").first();
      await expect.poll(async () => button.textContent()).toBe(name);
      await button.click();
      await expect.poll(async () => drawer().getByRole("heading").first().textContent()).toBe(name);
      await page.keyboard.press("Escape");
    }
    await page.getByLabel("Filter").fill("evil");
    await expect.poll(async () => page.locator("tbody .link").first().textContent()).toContain("evil");
    await page.getByLabel("Filter").fill("");
    await page.getByRole("button", { name: "Map" }).click();
    expect(await page.title()).toBe("Joulie");
    expect(await page.locator("#app img[src='x'], #app script").count()).toBe(0);
    const wide = await page.evaluate<number>(
      "document.documentElement.scrollWidth - document.documentElement.clientWidth",
    );
    expect(wide).toBe(0);
    expect(browser.complaints).toEqual([]);
  });
});
