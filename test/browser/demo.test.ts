// The dashboard of the running demo in chromium: the real programs, simulated nodes. One demo serves all tests.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { annotations } from "../../src/core/api/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { eventually, eventuallyPasses } from "../../src/platform/clock/testing/index.ts";
import { KubeClient, resources } from "../../src/platform/kube/index.ts";
import { systemRandom } from "../../src/platform/random/index.ts";
import { freePorts } from "../../src/platform/serve/listen.ts";
import { DashboardHarness } from "../../src/programs/dashboard/testing/dashboard-harness.ts";
import { classNames, type NodeAnswer, type Snapshot, stateNames } from "../../src/programs/dashboard/wire.ts";
import { DEMO_NAMESPACE } from "../../src/programs/demo/demo-cluster.ts";
import { type OpenBrowser, openBrowser } from "./browser.ts";
import { type RunningDemo, startDemo } from "./demo-process.ts";
import { renamingTransport } from "./renaming-transport.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const NODES = 20;

let demo: RunningDemo;
let browser: OpenBrowser;
let page: Page;
let port = 0;

const begin = async () => startDemo("--nodes", String(NODES), "--speed", "30", "--dashboard-port", String(port));

beforeAll(async () => {
  [port = 0] = await freePorts(1);
  [demo, browser] = await Promise.all([begin(), openBrowser()]);
  ({ page } = browser);
  // Most nodes were measured once.
  await eventually(async () => (await snapshot()).totals.measured > NODES / 2);
});
afterAll(async () => {
  await browser?.close();
  await demo?.stop();
});
beforeEach(async () => {
  await page.emulateMedia({ colorScheme: "light" });
  await page.goto(demo.url);
  await page.evaluate("localStorage.clear()");
  await shown().getByText(String(NODES), { exact: true }).waitFor();
});
afterEach(() => {
  if (browser.complaints.length > 0) throw new Error(`the browser complains: ${browser.complaints.join("; ")}`);
});

const snapshot = async () => (await (await fetch(`${demo.url}/api/snapshot`)).json()) as Snapshot;
const status = () => page.getByTestId("status");
const shown = () => page.getByTestId("shown");
const drawer = () => page.getByRole("dialog");
const map = () => page.getByRole("application");
const power = async () => page.getByTestId("power-now").textContent();
const names = () =>
  page.getByRole("region", { name: "Table of nodes" }).locator("tbody tr:not(.spacer) td:first-child");
const openTable = async () => page.getByRole("button", { name: "Table", exact: true }).click();
// Texts: this project's types know no document.
const mapHasFocus = async () =>
  page.evaluate<boolean>("document.activeElement?.getAttribute('role') === 'application'");
const theme = async () => page.evaluate<string>("document.documentElement.dataset.theme");
const pixels = async () => page.evaluate<string>("document.querySelector('.map canvas').toDataURL()");

/** Texts of the page that are wider than their place, or lie below the open drawer on a screen with room for both. */
const cutOff = async () =>
  page.evaluate<string[]>(`(() => {
    const isScrolled = (element) => element.closest(".table-box, .decisions ol, .problems ul, .visually-hidden, .skip") !== null;
    const side = document.querySelector(".drawer")?.getBoundingClientRect().left ?? innerWidth;
    const room = innerWidth > 1180 ? side : innerWidth;
    const cut = [...document.querySelectorAll("summary")].filter((one) => one.scrollHeight > one.clientHeight + 1);
    return [...document.querySelectorAll("header.top *, main *")]
      .filter((element) => !isScrolled(element) && element.closest(".drawer") === null)
      .filter((element) => element.getBoundingClientRect().right > room + 1 || (element.childElementCount === 0 && element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).overflow === "hidden"))
      .concat(cut)
      .map((element) => element.outerHTML.slice(0, 120));
  })()`);

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
  await client.detach();
  const found = result.value as readonly { id: string; impact: string; nodes: string[] }[];
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.join(" ")}`);
}

describe("the dashboard of the demo", () => {
  it("DSH-10 DSH-16 loads without a complaint of the browser, and shows power, classes and the model as a model", async () => {
    await status().getByText(/^Live/).waitFor();
    await expect.poll(power).toMatch(/ k?W$/);
    await page.getByText(/^Model: same pods, no caps, all nodes on/).waitFor();
    await page.getByText("a model, not a measurement").waitFor();
    await page.getByText(/^\d+ of 20 nodes measured$/).waitFor();
  });

  it("DSH-10 DSH-16 follows the programs live, with placements, reasons and savings", async () => {
    const first = await power();
    await expect.poll(power).not.toBe(first);
    await page.getByRole("button", { name: "Pods", exact: true }).click();
    await page
      .getByText(/of \d+ candidates?: score \d+/)
      .first()
      .waitFor();
    await openTable();
    await names().getByText("sim-003", { exact: true }).click();
    await drawer()
      .getByText(/by http/)
      .first()
      .waitFor();
    // By the operator's plan, not by what the page could say itself.
    expect(await drawer().locator(".reason").textContent()).not.toMatch(/policy/);
    const used = page.locator(".savings .facts dd").first();
    await expect.poll(async () => Number.parseFloat((await used.textContent()) ?? "")).toBeGreaterThan(0);
  });

  it("DSH-11 opens a node from the map, with receipts, pods and a score by the extender's settings", async () => {
    // Without changes the map stays where it is: problems above it come and go.
    await page.route("**/api/events*", async (route) => route.abort());
    await page.reload();
    await shown().waitFor();
    await map().scrollIntoViewIfNeeded();
    const box = await map().boundingBox();
    if (box === null) throw new Error("the map has no place");
    // Where the first tile lies depends on the size: the tip finds it.
    let found = "";
    for (let y = box.y + 20; y < box.y + box.height && found === ""; y += 20)
      for (let x = box.x + 20; x < box.x + box.width && found === ""; x += 20) {
        await page.mouse.move(x, y);
        if (!(await page.locator(".tip").isVisible())) continue;
        found = (await page.locator(".tip").textContent()) ?? "";
        await page.mouse.down();
        await page.mouse.up();
      }
    expect(found).toContain(await drawer().getByRole("heading").first().textContent());
    await page.unroute("**/api/events*");
    await drawer().getByText("Receipts of the agent").waitFor();
    await drawer()
      .getByText(/by http/)
      .first()
      .waitFor();
    await drawer().getByRole("button", { name: "Score", exact: true }).click();
    const verdict = drawer().getByTestId("verdict");
    await verdict.waitFor();
    expect(await verdict.textContent()).toMatch(/nodes (that )?accept it/);
    await verdict.getByText("By the settings of the extender.").waitFor();
    await page.keyboard.press("Escape");
    await drawer().waitFor({ state: "detached" });
  });

  it("DSH-11 filters by name, class and group", async () => {
    const matching = async (text: string) => {
      await page.getByLabel("Filter").fill(text);
      return shown().textContent();
    };
    expect(await matching("sim-00")).toBe("10 of 20");
    expect(await matching("sim-00 -sim-003")).toBe("9 of 20");
    expect(await matching("nothing")).toBe("0 of 20");
    await page.getByText("No node matches.").waitFor();
    const racks = (await (await fetch(`${demo.url}/api/labels?key=joulie.io/rack`)).json()) as {
      values: string[];
      codes: number[];
    };
    const inFirst = racks.codes.filter((code) => code === 0).length;
    await expect.poll(async () => matching(`group:${racks.values[0]}`)).toBe(`${inFirst} of 20`);
    // Classes change while the test looks.
    await expect
      .poll(async () => {
        const text = await matching("class:eco");
        const { totals } = await snapshot();
        const count = totals.byClass[classNames.indexOf("eco")] ?? 0;
        return text === (count === NODES ? "20" : `${count} of 20`);
      })
      .toBe(true);
  });

  it("DSH-11 groups by nothing if the reader chooses that, also in the table", async () => {
    await page.getByLabel("Group by").selectOption("");
    await openTable();
    await page.getByRole("button", { name: "Group", exact: true }).waitFor();
    const groups = page
      .getByRole("region", { name: "Table of nodes" })
      .locator("tbody tr:not(.spacer) td:nth-child(3)");
    await expect.poll(async () => new Set(await groups.allTextContents())).toEqual(new Set(["–"]));
  });

  it("DSH-11 says that a node has no reading, instead of a curve of 0 W", async () => {
    await page.route("**/api/node/*", async (route) => {
      const answer = (await (await route.fetch()).json()) as NodeAnswer;
      const history = { at: [1000, 2000], power: [null, null], cap: [null, null] };
      await route.fulfill({ json: { ...answer, history } });
    });
    try {
      await openTable();
      await names().getByText("sim-004", { exact: true }).click();
      await drawer().getByText("No reading of this node.").waitFor();
      expect(await drawer().locator(".spark").count()).toBe(0);
    } finally {
      await page.unroute("**/api/node/*");
    }
  });

  it("DSH-11 zooms and pans", async () => {
    const before = await pixels();
    await page.getByRole("button", { name: "Zoom in" }).click();
    await page.getByRole("button", { name: "Zoom in" }).click();
    await expect.poll(pixels).not.toBe(before);
    // Data changes pixels as well, so the place of a tile counts: the first tile lies elsewhere after the pan.
    const tipAt = async (x: number, y: number) => {
      await page.mouse.move(x, y);
      const tip = page.locator(".tip");
      return (await tip.isVisible()) ? tip.textContent() : "";
    };
    const box = await map().boundingBox();
    if (box === null) throw new Error("the map has no place");
    const places = Array.from({ length: 12 }, (_, at) => [box.x + 40 + 45 * at, box.y + 60] as const);
    const namesAt = async () => {
      const found: string[] = [];
      for (const [x, y] of places) found.push(/^sim-\d+/.exec((await tipAt(x, y)) ?? "")?.[0] ?? "");
      return found.join(" ");
    };
    const zoomed = await namesAt();
    expect(zoomed.trim()).not.toBe("");
    await page.mouse.move(box.x + 300, box.y + 150);
    await page.mouse.down();
    await page.mouse.move(box.x + 120, box.y + 130, { steps: 5 });
    await page.mouse.up();
    expect(await namesAt()).not.toBe(zoomed);
    expect(await drawer().count()).toBe(0);
  });

  it("DSH-12 works with the keyboard alone, with one tab stop for the map", async () => {
    await page.getByLabel("Filter").focus();
    for (let tabs = 0; tabs < 12 && !(await mapHasFocus()); tabs++) await page.keyboard.press("Tab");
    expect(await mapHasFocus()).toBe(true);
    const focused = async () => (await page.getByTestId("map-focus").textContent())?.split(":")[0] ?? "";
    await page.keyboard.press("ArrowRight");
    const first = await focused();
    await page.keyboard.press("ArrowRight");
    const second = await focused();
    expect([first, second].every((name) => /^sim-\d+$/.test(name))).toBe(true);
    expect(second).not.toBe(first);
    await page.keyboard.press("ArrowDown");
    expect(await focused()).not.toBe(second);
    await page.keyboard.press("Home");
    const opened = await focused();
    await page.keyboard.press("Enter");
    await drawer().getByRole("heading", { name: opened }).waitFor();
    await page.keyboard.press("Escape");
    await drawer().waitFor({ state: "detached" });
    // The focus returns to the map, and the next tab leaves it.
    expect(await mapHasFocus()).toBe(true);
    await page.keyboard.press("Tab");
    expect(await mapHasFocus()).toBe(false);
  });

  it("DSH-12 shows the same nodes in a table that can be sorted", async () => {
    await openTable();
    expect((await names().allTextContents()).toSorted()).toEqual(
      (await snapshot()).names.filter((name) => name !== null).toSorted(),
    );
    const sort = page.getByRole("button", { name: "Node", exact: true });
    await sort.click();
    const once = await names().allTextContents();
    await sort.click();
    await expect.poll(async () => names().allTextContents()).toEqual(once.toReversed());
    await names().first().getByRole("link").click();
    await drawer()
      .getByRole("heading", { name: once.at(-1) ?? "" })
      .waitFor();
  });

  it("X-147 has an address for a node and a view, for links, reloads and the back button", async () => {
    await openTable();
    await names().getByText("sim-005", { exact: true }).click();
    await drawer().getByRole("heading", { name: "sim-005" }).waitFor();
    expect(new URL(page.url()).search).toBe("?node=sim-005&view=table");
    await page.reload();
    await drawer().getByRole("heading", { name: "sim-005" }).waitFor();
    await page.goBack();
    await drawer().waitFor({ state: "detached" });
    expect(await names().count()).toBeGreaterThan(0);
    await page.goBack();
    await map().waitFor();
    await page.goto(`${demo.url}?filter=sim-00&colour=cooling&group=&hours=6&view=nonsense`);
    await shown().getByText("10 of 20").waitFor();
    expect(await page.getByLabel("Colour by").inputValue()).toBe("cooling");
    expect(await page.getByLabel("Group by").inputValue()).toBe("");
    expect(await page.getByRole("button", { name: "6 h" }).getAttribute("aria-pressed")).toBe("true");
    expect(new URL(page.url()).search).toBe("?filter=sim-00&group=&colour=cooling&hours=6");
  });

  it("X-148 shows problems open, with a command that a button copies", async () => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const warning = { id: "w", severity: "warning", title: "node a: It is hot.", meaning: "It may throttle." };
    const problems = [{ ...warning, fix: "joulie node a", nodes: ["a"] }];
    await page.route("**/api/snapshot", async (route) => {
      const answer = (await (await route.fetch()).json()) as Snapshot;
      await route.fulfill({ json: { ...answer, problems } });
    });
    await page.route("**/api/events*", async (route) => route.abort());
    try {
      await page.reload();
      const first = page.locator(".problems li").first();
      await first.getByText("It may throttle.").waitFor();
      await first.getByRole("button", { name: "Copy joulie node a" }).click();
      await first.getByText("Copied").waitFor();
      expect(await page.evaluate("navigator.clipboard.readText()")).toBe("joulie node a");
    } finally {
      await page.unroute("**/api/snapshot");
      await page.unroute("**/api/events*");
    }
  });

  it("X-148 says that it reads until the first data, and has no box for what has nothing to say", async () => {
    const answered = Promise.withResolvers<void>();
    await page.route("**/api/snapshot", async (route) => {
      const answer = (await (await route.fetch()).json()) as Snapshot;
      const awake = answer.columns.class.map((code) => code && 0);
      await answered.promise;
      await route.fulfill({ json: { ...answer, decisions: [], columns: { ...answer.columns, class: awake } } });
    });
    await page.route("**/api/events*", async (route) => route.abort());
    try {
      await page.reload();
      await page.getByText("Reading the cluster …").waitFor();
      expect(await page.locator(".panel").count()).toBe(0);
      answered.resolve();
      await shown().waitFor();
      expect(await page.locator(".side-column .panel").count()).toBe(0);
    } finally {
      await page.unroute("**/api/snapshot");
      await page.unroute("**/api/events*");
    }
  });

  it.each([390, 1280, 1440])("X-149 cuts no text off and hides none at %i px, also with a node open", async (width) => {
    const size = page.viewportSize() ?? { width: 1440, height: 1000 };
    await page.setViewportSize({ width, height: 900 });
    // Charts take the new width once the browser has laid the page out.
    const cutsNothingOff = async () => eventuallyPasses(async () => expect(await cutOff()).toEqual([]));
    try {
      await cutsNothingOff();
      await page.goto(`${demo.url}?node=sim-005&view=table`);
      await drawer().getByText("Receipts of the agent").waitFor();
      await cutsNothingOff();
    } finally {
      await page.setViewportSize(size);
    }
  });

  it("X-149 shows no cap as applied on a node that is off", async () => {
    await page.route("**/api/snapshot", async (route) => {
      const answer = (await (await route.fetch()).json()) as Snapshot;
      const off = answer.columns.state.map(() => stateNames.indexOf("off"));
      await route.fulfill({ json: { ...answer, columns: { ...answer.columns, state: off } } });
    });
    await page.route("**/api/events*", async (route) => route.abort());
    await page.route("**/api/node/*", async (route) => {
      const answer = (await (await route.fetch()).json()) as NodeAnswer;
      await route.fulfill({ json: { ...answer, receipts: [] } });
    });
    try {
      await page.goto(`${demo.url}?node=sim-004`);
      await drawer().getByText("The node is off: no cap is applied.").waitFor();
      expect(await drawer().locator(".receipts li").count()).toBe(0);
    } finally {
      for (const path of ["**/api/snapshot", "**/api/events*", "**/api/node/*"]) await page.unroute(path);
    }
  });

  it("DSH-13 has a light and a dark theme, and axe finds no serious violation in either", async () => {
    await status().getByText(/^Live/).waitFor();
    expect(await theme()).toBe("light");
    expect(await axeFindings()).toEqual([]);
    await page.getByRole("button", { name: "Use the dark theme" }).click();
    expect(await theme()).toBe("dark");
    expect(await axeFindings()).toEqual([]);
    await openTable();
    await names().getByText("sim-005", { exact: true }).click();
    await drawer().getByText("Receipts of the agent").waitFor();
    expect(await axeFindings()).toEqual([]);
    await page.reload();
    await status().getByText(/^Live/).waitFor();
    expect(await theme()).toBe("dark");
  });

  it("DSH-04 asks for a token where a request does not come from this machine, and shows why one is refused", async () => {
    await page.setExtraHTTPHeaders({ "x-forwarded-for": "203.0.113.9" });
    try {
      await page.reload();
      await page.getByRole("heading", { name: "A token is needed" }).waitFor();
      expect(await page.getByRole("alert").textContent()).toContain("send a bearer token");
      expect(await axeFindings()).toEqual([]);
      await page.getByLabel("Bearer token").fill("made-up");
      await page.keyboard.press("Enter");
      // The embedded API has no token reviews: the page says so and tries again.
      await expect.poll(async () => status().textContent()).toContain("cannot be checked now");
      await page.getByText("Reading the cluster …").waitFor();
      expect(await shown().count()).toBe(0);
      expect(page.url()).not.toContain("made-up");
    } finally {
      await page.setExtraHTTPHeaders({});
      await page.evaluate("sessionStorage.clear()");
    }
  });

  it("DSH-06 shows savings without covered time as unknown, and links only to nodes", async () => {
    const value = { estimate: 0, low: 0, high: 0 };
    const known = {
      from: 1,
      to: 2,
      usedKwh: 3,
      modelledKwh: 1,
      notUsedKwh: { ...value, estimate: 4 },
      notUsedPct: null,
      cost: null,
    };
    const words = { carbonKg: null, factors: "", method: "m", bias: "b", byClassKwh: [], byCauseKwh: [] };
    const topNodes = [
      ["sim-000", 2, 1],
      ["(removed nodes)", 1, 3],
    ];
    let coverage: number | null = null;
    await page.route("**/api/savings*", async (route) =>
      route.fulfill({ json: { ...known, ...words, topNodes, coverage } }),
    );
    try {
      const figure = page.getByTestId("not-used");
      await page.getByText("Nothing is counted yet").waitFor();
      expect(await figure.textContent()).toBe("–");
      coverage = 1;
      await expect.poll(async () => figure.textContent()).toContain("4");
      await page.getByText("Nodes that used most").click();
      const rows = page.locator(".savings .rows li");
      expect(await rows.getByRole("link").allTextContents()).toEqual(["sim-000"]);
      expect(await rows.last().textContent()).toContain("(removed nodes)");
    } finally {
      await page.unroute("**/api/savings*");
    }
  });

  it("DSH-18 shows first that Joulie is stopped", async () => {
    const transport = await demo.connect();
    const client = new KubeClient({ transport, clock: systemClock, random: systemRandom, fieldManager: "a-person" });
    const annotate = async (value: string | null) =>
      client.mergePatch(
        resources.namespaces,
        { name: DEMO_NAMESPACE },
        { metadata: { annotations: { [annotations.stop]: value } } },
      );
    try {
      await annotate("true");
      const first = page.locator(".problems li").first();
      await expect.poll(async () => first.textContent()).toMatch(/Joulie is stopped/);
    } finally {
      await annotate(null);
      await transport.close();
    }
  });
});

describe("hostile names", () => {
  /** No API server accepts them: a dashboard of the demo's cluster gets them in the answers of the API. */
  const hostile = {
    "sim-005": '<img src=x onerror="document.title=\'broken\'"><script>document.title="broken"</script>',
    "sim-006": `long-${"x".repeat(3000)}`,
    "sim-007": "\u202eevil\u202c-שלום-\u0000\u0007",
  } as const;

  it("DSH-15 are shown as text, whatever they contain", async () => {
    const transport = await demo.connect();
    const harness = await DashboardHarness.begin();
    try {
      await harness.start({}, { transport: renamingTransport(transport, hostile) });
      await page.goto(harness.url);
      await shown().getByText(String(NODES), { exact: true }).waitFor();
      await openTable();
      for (const name of [hostile["sim-005"], hostile["sim-006"]]) {
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
      await page.getByRole("button", { name: "Map", exact: true }).click();
      expect(await page.title()).toBe("Joulie");
      expect(await page.locator("#app img[src='x'], #app script").count()).toBe(0);
      const wide = await page.evaluate<number>(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth",
      );
      expect(wide).toBe(0);
    } finally {
      await harness.end();
      await transport.close();
    }
  });
});

describe("a demo that ends", () => {
  it("DSH-14 leaves the last data on the page with its age, and the page continues with the next demo", async () => {
    await status().getByText(/^Live/).waitFor();
    await page.getByLabel("Group by").selectOption("");
    // Until the demo has ended, the page may still get changes.
    await demo.stop();
    await status()
      .getByText(/^Not live: .* Data is \d+ s old; trying again\.$/)
      .waitFor();
    const last = await power();
    expect(last).toMatch(/ k?W$/);
    expect(await shown().textContent()).toBe(String(NODES));
    demo = await begin();
    expect(new URL(demo.url).port).toBe(String(port));
    await status().getByText(/^Live/).waitFor();
    // The numbers of the former server mean nothing to the next one: the page has read everything again.
    await expect.poll(power).not.toBe(last);
    await shown().getByText(String(NODES), { exact: true }).waitFor();
    expect(await page.getByLabel("Group by").inputValue()).toBe("");
  });
});
