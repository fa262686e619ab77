// A browser with a fresh profile, for tests, benches and screenshots.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import { prepareBrowser } from "./requirements.ts";

/** Root cannot use chromium's sandbox; the rest keeps it from calling anywhere. */
const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export interface OpenBrowser {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Errors and refusals of the content security policy, as the page reported them. */
  readonly complaints: readonly string[];
  readonly close: () => Promise<void>;
}

export interface BrowserOptions {
  readonly width?: number;
  readonly height?: number;
  readonly dark?: boolean;
}

export async function openBrowser({
  width = 1440,
  height = 1000,
  dark = false,
}: BrowserOptions = {}): Promise<OpenBrowser> {
  const browser = prepareBrowser();
  if (!browser.ready) throw new Error(browser.reason);
  const profile = await mkdtemp(join(tmpdir(), "joulie-browser-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: browser.path,
    headless: true,
    args: flags,
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
  });
  // A timeout ends a wait that hangs. It is no measure of speed.
  context.setDefaultTimeout(180_000);
  const page = context.pages()[0] ?? (await context.newPage());
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    // A server that is stopped on purpose makes the browser log failed requests.
    if (message.type() === "error" && !/Failed to load resource|ERR_/.test(message.text()))
      complaints.push(message.text());
  });
  return {
    context,
    page,
    complaints,
    close: async () => {
      await context.close();
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
