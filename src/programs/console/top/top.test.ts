import { describe, expect, it } from "vitest";
import type { NodeSummary } from "../../../core/report/index.ts";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../../platform/clock/testing/index.ts";
import { ApiError } from "../../../platform/kube/index.ts";
import { keysIn, runTop } from "./top.ts";
import { afterKey, arranged, initialTop, type TopState, topFrame } from "./top-view.ts";

const node = (name: string, more: Partial<NodeSummary> = {}): NodeSummary =>
  ({
    name,
    labels: {},
    schedulableClass: "eco",
    drawn: 100,
    budget: 400,
    used: 25,
    receipts: [],
    pods: 0,
    allocation: { cpus: 0, cpuCapacity: 64, gpus: 0, gpuCapacity: 0 },
    ...more,
  }) as unknown as NodeSummary;

const nodes = [
  node("a", { rack: "r2", drawn: 300 as never, schedulableClass: "performance" }),
  node("b", { rack: "r1", drawn: 100 as never, labels: { zone: "z1" } }),
  node("c", { rack: "r2", drawn: 200 as never }),
];
const press = (keys: readonly string[], from: Partial<TopState> = {}) =>
  keys.reduce((state, key) => afterKey(state, key, names(state), 2), initialTop(from));
const names = (state: TopState) => arranged(nodes, state).map(({ name }) => name);
const frame = (state: TopState, more: Partial<Parameters<typeof topFrame>[0]> = {}) =>
  topFrame({
    nodes,
    history: new Map(),
    state,
    screen: { columns: 100, colour: false },
    rows: 12,
    error: undefined,
    notListed: [],
    pending: [],
    age: 0,
    ...more,
  });

describe("joulie top", () => {
  it("CLI-09 groups by rack and sorts by any column with the arrow keys", () => {
    expect(names(initialTop())).toEqual(["b", "a", "c"]);
    expect(names(press(["g"]))).toEqual(["a", "b", "c"]);
    expect(names(press(["g", "\u001b[C", "\u001b[C"]))).toEqual(["a", "c", "b"]);
    expect(names(press(["g", "\u001b[C", "\u001b[C", "r"]))).toEqual(["b", "c", "a"]);
    expect(press(["\u001b[C", "\u001b[D"]).sortBy).toBe("name");
  });

  it("X-146 sorts the whole list by a value: the highest comes first, whatever its rack", () => {
    expect(names(initialTop({ sortBy: "power" }))).toEqual(["a", "c", "b"]);
    expect(names(initialTop({ sortBy: "power", reversed: true }))).toEqual(["b", "c", "a"]);
    expect(frame(initialTop({ sortBy: "power" }))).not.toContain("r1");
  });

  it.each(["cooling", "psu", "pods", "cpus", "gpus", "rack", "updated", "used"])(
    "X-146 shows the column %s at 80 columns if the list is sorted by it, with the direction",
    (sortBy) => {
      const long = [node("a-node-with-a-long-name")];
      const heads = (more: Partial<TopState>) =>
        frame(initialTop({ sortBy, ...more }), { nodes: long, screen: { columns: 80, colour: false } })[3];
      const [first, second] = sortBy === "rack" ? ["▲", "▼"] : ["▼", "▲"];
      expect(heads({})).toContain(`${sortBy.toUpperCase()}${first}`);
      expect(heads({ reversed: true })).toContain(`${sortBy.toUpperCase()}${second}`);
    },
  );

  it("X-146 opens the selected node with Enter, scrolls it, and goes back with Escape", () => {
    expect(press(["\u001b[B", "\r"]).opened).toEqual({ node: "a", line: 0 });
    expect(press(["\r", "\u001b[B", "\u001b[6~"]).opened).toEqual({ node: "b", line: 3 });
    for (const back of ["\u001b", "q", "\r"])
      expect(press(["\r", back])).toMatchObject({ opened: undefined, done: false });
    expect(afterKey(initialTop(), "\r", [], 2).opened).toBeUndefined();
    const details = "NODE a\none\ntwo\nthree\n";
    const opened = (line: number) => frame(initialTop({ opened: { node: "a", line } }), { details, rows: 3 });
    expect(opened(0).slice(1)).toEqual(["NODE a", "one"]);
    expect(opened(500).slice(1)).toEqual(["two", "three"]);
  });

  it("X-146 shows what joulie node says about the opened node, and nothing as applied on a node that is off", async () => {
    const clock = new VirtualClock(instant(0));
    const written: string[] = [];
    let onKey: (key: string) => void = () => undefined;
    const terminal = {
      size: () => ({ columns: 80, rows: 60 }),
      write: (text: string) => written.push(text),
      onKey: (added: (key: string) => void) => {
        onKey = added;
        return () => undefined;
      },
    };
    const status = { power: { state: "off" }, controlStatus: { cpu: { result: "applied" } } } as const;
    const twin = { metadata: { name: "n1" }, spec: { nodeName: "n1", profile: "eco" as const }, status };
    const none = {
      hardware: new Map(),
      profiles: new Map(),
      endpoints: new Map(),
      pods: [],
      notListed: [],
      pending: [],
    };
    const nodeObject = { metadata: { name: "n1", labels: { "joulie.io/managed": "true" } } };
    const read = async () => ({ now: clock.now(), nodes: [nodeObject], twins: new Map([["n1", twin]]), ...none });
    const stop = new AbortController();
    const done = runTop({ clock, screen: { columns: 80, colour: false } }, read, terminal, {}, stop.signal);
    await clock.advanceAsync(milliseconds(100));
    onKey("\r");
    expect(written.at(-1)).toMatch(/NODE +n1/);
    expect(written.at(-1)).toContain("the node is off; no cap is applied");
    expect(written.at(-1)).toContain("-> joulie node n1");
    stop.abort();
    await clock.advanceAsync(milliseconds(10_000));
    await done;
  });

  it("CLI-09 filters by name, label and class while it is typed; Escape clears", () => {
    expect(names(press(["/", "c"]))).toEqual(["c"]);
    expect(names(press(["/", ...keysIn("class:perf")]))).toEqual(["a"]);
    expect(names(press(["/", ...keysIn("zone=z1"), "\r"]))).toEqual(["b"]);
    expect(names(press(["/", "c", "\u001b"]))).toEqual(["b", "a", "c"]);
    expect(press(["/", "a", "b", "\u007f"]).filter).toBe("a");
    expect(press(["/", "q"]).done).toBe(false);
  });

  it("CLI-09 selects with arrows within the list, shows help with ?, and quits with q or Ctrl-C", () => {
    expect(press(["\u001b[B", "\u001b[B", "\u001b[B", "\u001b[B"]).selected).toBe(2);
    expect(press(["\u001b[A"]).selected).toBe(0);
    for (const end of ["\u001b[F", "\u001b[4~", "\u001bOF"]) expect(press([end]).selected).toBe(2);
    for (const home of ["\u001b[H", "\u001b[1~", "\u001bOH"]) expect(press([home], { selected: 2 }).selected).toBe(0);
    expect(frame(press(["?"])).join("\n")).toContain("by another column");
    for (const key of ["x", "q"]) expect(press(["?", key])).toMatchObject({ help: false, done: false });
    for (const line of frame(press(["?"]), { screen: { columns: 60, colour: false } }))
      expect(line.length).toBeLessThanOrEqual(60);
    const [, , , head] = frame(initialTop(), { screen: { columns: 80, colour: false } });
    expect(head).toBe("NAME▲  CLASS           POWER       CAP  USED          UPDATED  TREND");
    expect([press(["q"]).done, press(["\u0003"]).done, press(["/", "\u0003"]).done]).toEqual([true, true, true]);
  });

  it("CLI-09 keeps every line within the screen and shows racks, bars and an error", () => {
    const lines = frame(initialTop(), { error: "the API does not answer: connection refused; trying again" });
    expect(lines).toContain("the API does not answer: connection refused; trying again");
    expect(lines).toContain("r1");
    expect(frame(initialTop(), { notListed: ["pods"] })).toContain("cannot list pods: see joulie doctor");
    expect(frame(initialTop(), { notListed: ["pods"], pending: ["pods"] })).toContain("reading pods");
    expect(frame(initialTop(), { notListed: ["twins", "pods"], pending: ["pods"] })).toContain(
      "cannot list twins: see joulie doctor; reading pods",
    );
    for (const rows of [1, 2, 3, 4, 5]) {
      expect(frame(initialTop(), { rows })).toHaveLength(rows);
      expect(frame(initialTop(), { rows, nodes: [] }).length).toBeLessThanOrEqual(rows);
    }
    for (const columns of [40, 80, 160])
      for (const line of frame(initialTop(), { screen: { columns, colour: false } }))
        expect(line.length).toBeLessThanOrEqual(columns);
  });

  it("CLI-09 formats only the nodes on the screen: 5,000 nodes cost no more than a screenful of cells", () => {
    let reads = 0;
    const many = Array.from({ length: 5000 }, (_, index): NodeSummary => {
      const one = node(`n${String(index).padStart(4, "0")}`);
      return Object.defineProperty({ ...one }, "cooling", {
        enumerable: true,
        get: () => {
          reads++;
          return 5;
        },
      });
    });
    const lines = frame(initialTop({ selected: 4999 }), { nodes: many, rows: 30 });
    expect(lines.at(-1)).toContain("n4999");
    expect(lines.length).toBeLessThanOrEqual(30);
    expect(reads).toBeLessThanOrEqual(30);
  });

  it("CLI-09 shows the selected node and the name of its rack, wherever it is in a list with racks", () => {
    const many = Array.from({ length: 100 }, (_, index) =>
      node(`n${String(index).padStart(3, "0")}`, { rack: `rack-${String(Math.floor(index / 4)).padStart(2, "0")}` }),
    );
    for (const rows of [6, 7, 24])
      for (let selected = 0; selected < many.length; selected++) {
        const lines = frame(initialTop({ selected }), { nodes: many, rows, screen: { columns: 100, colour: true } });
        expect(lines).toHaveLength(rows);
        const inverse = lines.filter((line) => line.includes("\u001b[7m"));
        expect(inverse).toHaveLength(1);
        expect(inverse[0]).toContain(many[selected]?.name);
        expect(lines.join("\n")).toContain(many[selected]?.rack);
      }
    expect(frame(initialTop({ selected: 99 }), { nodes: many, rows: 24 }).at(-1)).toContain("n099");
  });

  it("CLI-09 says that power is unknown without readings, and compares only nodes with a reading with their caps", () => {
    const [, none] = frame(initialTop(), { nodes: [node("a", { drawn: undefined, budget: undefined })] });
    expect(none).toBe("power unknown: no node that is awake has a reading");
    const [, some] = frame(initialTop(), { nodes: [node("a"), node("b", { drawn: undefined })] });
    expect(some).toMatch(/^100 W of 400 W .* 25 % {2}1 node has no reading$/);
    const unmanaged = node("c", { drawn: undefined, eligibility: "unmanaged" });
    const [, managed] = frame(initialTop(), { nodes: [node("a"), unmanaged] });
    expect(managed).not.toContain("no reading");
    const asleep = node("d", { drawn: 0 as never, powerState: "off" });
    const [, stale] = frame(initialTop(), { nodes: [node("a", { drawn: undefined }), asleep] });
    expect(stale).toBe("power unknown: no node that is awake has a reading");
    expect(frame(initialTop(), { nodes: [asleep] })[1]).toMatch(/^0 W of 400 W/);
  });

  it("CLI-09 says before the first reading that it reads, not that the API does not answer", () => {
    const lines = frame(initialTop(), { nodes: [], age: undefined });
    expect(lines[0]).toContain("no data yet");
    expect(lines.at(-1)).toBe("reading the cluster");
    expect(lines.join("\n")).not.toContain("does not answer");
    expect(frame(initialTop(), { nodes: [] }).at(-1)).toBe("no node matches");
  });

  it("takes pasted keys apart, escape sequences together", () => {
    expect(keysIn("a\u001b[A\u001b[5~\u001bOH\u001bq")).toEqual([
      "a",
      "\u001b[A",
      "\u001b[5~",
      "\u001bOH",
      "\u001b",
      "q",
    ]);
  });

  it("CLI-09 goes on two seconds after a slow first list and after a call that timed out", async () => {
    const clock = new VirtualClock(instant(0));
    const readAt: number[] = [];
    const read = async () => {
      readAt.push(clock.now());
      await clock.sleep(milliseconds(5000));
      if (readAt.length === 2) throw new Error("no answer");
      const none = { twins: new Map(), hardware: new Map(), profiles: new Map(), endpoints: new Map() };
      return { now: clock.now(), nodes: [], pods: [], notListed: [], pending: [], ...none };
    };
    const terminal = {
      size: () => ({ columns: 80, rows: 24 }),
      write: () => undefined,
      onKey: () => () => undefined,
    };
    const stop = new AbortController();
    const done = runTop({ clock, screen: { columns: 80, colour: false } }, read, terminal, {}, stop.signal);
    for (let step = 0; step < 40; step++) await clock.advanceAsync(milliseconds(500));
    stop.abort();
    await clock.advanceAsync(milliseconds(10_000));
    await done;
    expect(readAt.slice(0, 3)).toEqual([0, 7000, 14_000]);
  });

  it.each(["q", "\u0003"])(
    "CLI-09 quits at %j while the API hangs, and shows meanwhile how old the data is",
    async (key) => {
      const clock = new VirtualClock(instant(0));
      const written: string[] = [];
      let press: (key: string) => void = () => undefined;
      const terminal = {
        size: () => ({ columns: 80, rows: 24 }),
        write: (text: string) => written.push(text),
        onKey: (added: (key: string) => void) => {
          press = added;
          return () => undefined;
        },
      };
      let reads = 0;
      const read = async () => {
        // From the second call on there is no answer.
        if (++reads > 1) await new Promise(() => undefined);
        const none = { twins: new Map(), hardware: new Map(), profiles: new Map(), endpoints: new Map() };
        return { now: clock.now(), nodes: [], pods: [], notListed: [], pending: [], ...none };
      };
      const { signal } = new AbortController();
      const done = runTop({ clock, screen: { columns: 80, colour: false } }, read, terminal, {}, signal);
      for (let step = 0; step < 20; step++) await clock.advanceAsync(milliseconds(500));
      expect(written.at(-1)).toMatch(/data (9|10) s old/);
      press(key);
      await done;
      expect([reads, written.at(-1)]).toEqual([2, "\u001b[?25h\u001b[?1049l"]);
    },
  );

  it.each(["at the start", "after a key"])(
    "CLI-09 restores the screen and ends with the error if drawing fails %s",
    async (when) => {
      const clock = new VirtualClock(instant(0));
      const written: string[] = [];
      let press: (key: string) => void = () => undefined;
      let isBroken = when === "at the start";
      const terminal = {
        size: () => {
          if (isBroken) throw new Error("the terminal has no size");
          return { columns: 80, rows: 24 };
        },
        write: (text: string) => written.push(text),
        onKey: (added: (key: string) => void) => {
          press = added;
          return () => undefined;
        },
      };
      const screen = { columns: 80, colour: false };
      const { signal } = new AbortController();
      const done = runTop({ clock, screen }, async () => new Promise(() => undefined), terminal, {}, signal);
      isBroken = true;
      press("g");
      await expect(done).rejects.toThrow("the terminal has no size");
      expect([written[0], written.at(-1)]).toEqual(["\u001b[?1049h\u001b[?25l", "\u001b[?25h\u001b[?1049l"]);
    },
  );

  it("CLI-09 does not say that the API is away when it refuses a right", async () => {
    const clock = new VirtualClock(instant(0));
    const written: string[] = [];
    const terminal = {
      size: () => ({ columns: 120, rows: 24 }),
      write: (text: string) => written.push(text),
      onKey: () => () => undefined,
    };
    const stop = new AbortController();
    const read = async () => {
      throw new ApiError("forbidden", "GET /api/v1/nodes: 403 nodes is forbidden");
    };
    const done = runTop({ clock, screen: { columns: 120, colour: false } }, read, terminal, {}, stop.signal);
    await clock.advanceAsync(milliseconds(500));
    stop.abort();
    await done;
    const text = written.join("");
    expect(text).toContain("the API refuses: GET /api/v1/nodes: 403 nodes is forbidden; see joulie doctor");
    expect(text).not.toContain("does not answer");
  });

  it("CLI-09 survives API errors, and restores the screen when it ends", async () => {
    const clock = new VirtualClock(instant(0));
    const written: string[] = [];
    let listener: (key: string) => void = () => undefined;
    let calls = 0;
    const terminal = {
      size: () => ({ columns: 80, rows: 24 }),
      write: (text: string) => written.push(text),
      onKey: (added: (key: string) => void) => {
        listener = added;
        return () => undefined;
      },
    };
    const read = async () => {
      calls++;
      if (calls === 2) throw new Error("the server is gone");
      return {
        now: clock.now(),
        nodes: [{ metadata: { name: "n1", labels: { "joulie.io/managed": "true" } } }],
        twins: new Map(),
        hardware: new Map(),
        profiles: new Map(),
        endpoints: new Map(),
        pods: [],
        notListed: [],
        pending: [],
      };
    };
    const done = runTop(
      { clock, screen: { columns: 80, colour: false } },
      read,
      terminal,
      {},
      new AbortController().signal,
    );
    for (let step = 0; step < 20; step++) await clock.advanceAsync(milliseconds(500));
    expect(calls).toBeGreaterThanOrEqual(3);
    expect(written.some((text) => text.includes("the server is gone"))).toBe(true);
    expect(written.at(-1)).toContain("n1");
    expect(written.at(-1)).not.toContain("the server is gone");
    listener("q");
    for (let step = 0; step < 10; step++) await clock.advanceAsync(milliseconds(500));
    await done;
    expect(written[0]).toContain("\u001b[?1049h");
    expect(written.at(-1)).toContain("\u001b[?1049l");
  });
});
