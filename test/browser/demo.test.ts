// The dashboard of the running demo: the real programs, simulated nodes.
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OpenBrowser, openBrowser } from "./browser.ts";

const main = join(import.meta.dirname, "../../src/main.ts");
let demo: ChildProcess;
let browser: OpenBrowser;
let url = "";

beforeAll(async () => {
  demo = spawn(process.execPath, [main, "demo", "--nodes", "20", "--duration", "80s"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  let output = "";
  url = await new Promise<string>((resolve, reject) => {
    demo.once("exit", (code) => reject(new Error(`the demo ended with ${code}: ${output}`)));
    demo.stdout?.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      const found = /dashboard +(http:\S+)/.exec(output)?.[1];
      if (found !== undefined) resolve(found);
    });
  });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  const ended = new Promise((resolve) => demo.once("exit", resolve));
  demo.kill("SIGTERM");
  await ended;
});

describe("the dashboard of the demo", () => {
  it("DSH-16 is served by default, shows all nodes, and follows the programs live with reasons and placements", async () => {
    const { page, complaints } = browser;
    await page.goto(url);
    await page.getByTestId("shown").getByText("20", { exact: true }).waitFor({ timeout: 40_000 });
    const power = async () => page.getByTestId("power-now").textContent();
    await expect.poll(power, { timeout: 30_000 }).toMatch(/ k?W$/);
    const first = await power();
    await expect.poll(power, { timeout: 30_000 }).not.toBe(first);
    await page.getByRole("button", { name: "Pods", exact: true }).click();
    await page
      .getByText(/of \d+ candidates?: score \d+/)
      .first()
      .waitFor({ timeout: 40_000 });
    await page.getByRole("button", { name: "Table" }).click();
    await page.getByRole("button", { name: "sim-003", exact: true }).click();
    const drawer = page.getByRole("dialog");
    await drawer
      .getByText(/by http/)
      .first()
      .waitFor();
    // By the operator's plan, not by what the page could say itself.
    expect(await drawer.locator(".reason").textContent()).not.toMatch(/policy/);
    expect(complaints).toEqual([]);
  });
});
