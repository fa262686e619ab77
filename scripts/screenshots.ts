// npm run screenshots: pictures of the dashboard for docs/images, from a running demo.
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openBrowser } from "../test/browser/browser.ts";
import { animated, recompressed } from "./screenshots/png.ts";
import { buildWebIfOld } from "./web.ts";

const root = join(import.meta.dirname, "..");
const folder = join(root, "docs/images");
const MOST_BYTES = 300_000;
/** Until the demo has placed its first jobs and has some history. */
const WARM_UP_MS = 45_000;

const save = (name: string, bytes: Buffer): void => {
  if (bytes.length > MOST_BYTES) throw new Error(`${name} has ${bytes.length} bytes, more than ${MOST_BYTES}`);
  writeFileSync(join(folder, name), bytes);
  console.log(`docs/images/${name}: ${Math.round(bytes.length / 1000)} KB`);
};

async function pictures(url: string): Promise<void> {
  for (const [name, dark] of [
    ["dashboard-light.png", false],
    ["dashboard-dark.png", true],
  ] as const) {
    const { page, close } = await openBrowser({ width: 1440, height: 1180, dark });
    await page.goto(url);
    await page.getByTestId("status").getByText(/^Live/).waitFor();
    await sleep(6500);
    save(name, recompressed(await page.screenshot()));
    if (!dark) {
      await page.getByRole("button", { name: "Table" }).click();
      await page.locator("tbody .link").nth(3).click();
      await page.getByRole("dialog").getByText("Receipts of the agent").waitFor();
      await page.getByRole("dialog").getByRole("button", { name: "Score", exact: true }).click();
      await page.getByTestId("verdict").waitFor();
      await page.getByRole("button", { name: "Map" }).click();
      await sleep(500);
      save("dashboard-node.png", recompressed(await page.screenshot()));
    }
    await close();
  }
  const { page, close } = await openBrowser({ width: 900, height: 560 });
  await page.goto(url);
  await page.getByTestId("status").getByText(/^Live/).waitFor();
  await page.locator("#fleet").scrollIntoViewIfNeeded();
  const frames: Buffer[] = [];
  for (const mode of ["class", "class", "power", "headroom", "class", "class"]) {
    await page.getByLabel("Colour by").selectOption(mode);
    await page.evaluate("document.querySelector('#fleet').scrollIntoView()");
    await sleep(1500);
    frames.push(await page.screenshot());
  }
  save("dashboard.apng", animated(frames, 1.5));
  await close();
}

await buildWebIfOld();
mkdirSync(folder, { recursive: true });
const demo = spawn(process.execPath, [join(root, "src/main.ts"), "demo", "--nodes", "30", "--speed", "20"], {
  stdio: ["ignore", "pipe", "inherit"],
});
try {
  const url = await new Promise<string>((resolve, reject) => {
    let output = "";
    demo.once("exit", (code) => reject(new Error(`the demo ended with ${code}`)));
    demo.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      const found = /dashboard +(http:\S+)/.exec(output)?.[1];
      if (found !== undefined) resolve(found);
    });
  });
  await sleep(WARM_UP_MS);
  await pictures(url);
} finally {
  const ended = new Promise((resolve) => demo.once("exit", resolve));
  demo.kill("SIGTERM");
  await ended;
}
