import { describe, expect, it } from "vitest";
import { findDirectTimeAndRandom } from "./time.ts";

const inCore = (text: string) => findDirectTimeAndRandom("src/core/policy/x.ts", text);

describe("time and randomness are passed as arguments", () => {
  it.each([
    ["Date.now", "const t = Date.now();"],
    ["Date.now", 'const t = Date["now"]();'],
    ["Date.now", "const t = globalThis.Date.now();"],
    ["Date", "const { now } = Date;"],
    ["Date", "const D = Date;"],
    ["new Date()", "const t = new Date();"],
    ["new Date()", "const t = new Date;"],
    ["performance", "const t = performance.now();"],
    ["globalThis as a whole", "const { performance } = globalThis;"],
    ["globalThis as a whole", "({ setTimeout: later } = globalThis);"],
    ["globalThis as a whole", "const g = globalThis;"],
    ["globalThis as a whole", 'vi.spyOn(globalThis, "setTimeout");'],
    ["setTimeout", 'globalThis["setTimeout"](f, 1);'],
    ["Date.now", 'globalThis["Date"].now();'],
    ["Date", "class Later extends Date {}"],
    ["Date", "const odd = Date instanceof Function;"],
    ["new Date()", "const t = new Date(...rest);"],
    ["process.hrtime", "const t = process.hrtime.bigint();"],
    ["process.uptime", "const t = process.uptime();"],
    ["AbortSignal.timeout", "const s = AbortSignal.timeout(5);"],
    ["import of node:timers/promises", 'const { setTimeout: s } = await import("node:timers/promises");'],
    ["import of node:timers", 'export * from "node:timers";'],
    ["setTimeout", "f(setTimeout);"],
    ["setTimeout", "const o = { later: setTimeout };"],
    ["setTimeout", "const { later = setTimeout } = o;"],
    ["setTimeout", "setTimeout(() => {}, 1);"],
    ["setTimeout", "const later = setTimeout;"],
    ["setTimeout", "globalThis.setTimeout(() => {}, 1);"],
    ["setInterval", "setInterval(() => {}, 1);"],
    ["import of node:timers/promises", 'import { setTimeout as sleep } from "node:timers/promises";'],
    ["import of node:perf_hooks", 'import { performance as p } from "node:perf_hooks";'],
  ])("finds %s in `%s`", (what, text) => {
    expect(inCore(text)).toEqual([`src/core/policy/x.ts:1: ${what} outside platform/clock`]);
    expect(findDirectTimeAndRandom("src/platform/clock/x.ts", text)).toEqual([]);
    expect(findDirectTimeAndRandom("src/programs/agent/x.ts", text)).toHaveLength(1);
  });

  it.each([
    "Math.random()",
    'Math["random"]()',
    "const { random } = Math",
    "const m = Math",
    "globalThis.Math.random()",
  ])("finds randomness in `%s`", (text) => {
    expect(inCore(text)).toEqual(["src/core/policy/x.ts:1: Math.random outside platform/random"]);
    expect(findDirectTimeAndRandom("src/platform/random/x.ts", text)).toEqual([]);
  });

  it.each([
    "const t = new Date(0).toISOString();",
    "const t = Date.parse(text);",
    "function f(d: Date): d is Date { return d instanceof Date; }",
    "const x = Math.max(1, Math.round(y));",
    "await clock.setTimeout(1);",
    "interface Timers { setTimeout(ms: number): void }",
    "const timers = { setTimeout: fake };",
    "// Date.now() in a comment, 'Math.random()' in a string",
    "const text = 'performance.now()';",
    'vi.spyOn(globalThis, "BigInt");',
    "const performance = profileOf(node); use(performance);",
    "function f(performance: string) { return performance; }",
    "const f = ({ performance }: Profiles) => performance + 1;",
    'import { performance } from "./profiles.ts"; use(performance);',
    "for (const performance of profiles) use(performance);",
    "const { setTimeout } = fakeTimers; setTimeout(f);",
    "class Clock { setTimeout = f; performance() {} }",
    "const controller = new AbortController(); use(controller.signal, process.env);",
  ])("accepts `%s`", (text) => {
    expect(inCore(text)).toEqual([]);
  });
});
