import { spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { DemoSummary } from "../src/programs/demo/summary.ts";
import type { BenchFigure, Scenario } from "./scenario.ts";

const NODES = 2000;
const SECONDS = 120;
/** Time until the initial jobs are placed. */
const PLACED_MS = 90_000;
const MIB = 2 ** 20;
const joulie = join(import.meta.dirname, "../bin/joulie.mjs");

export const scenario: Scenario = {
  about: `The demo with ${NODES} nodes in real time for ${SECONDS} s: API, operator, pool agent, extender, scheduler and simulator in one process; once, because it takes minutes`,
  repeats: 1,
  measure: async () => {
    const run = started();
    await sleep(PLACED_MS);
    const late = await run.lateTicks();
    await sleep(1000 * (SECONDS - 5) - PLACED_MS);
    const more = (await run.lateTicks()) - late;
    const { speed, ready, cores, memory, eventLoop, pods, checks } = await run.ended;
    const figures: Record<string, BenchFigure> = {
      "speed held": { unit: "of that asked for", value: speed.last / speed.asked },
      "every node has its twin": { unit: "s", value: ready.twins ?? Number.NaN },
      "first jobs tried": { unit: "s", value: ready.jobs ?? Number.NaN },
      "jobs running": { unit: "pods", value: pods.running },
      "cores busy after that": { unit: "cores", value: cores ?? Number.NaN },
      "event loop late, median": { unit: "ms", value: eventLoop.medianMs },
      "event loop late, worst": { unit: "ms", value: eventLoop.worstMs },
      "agent's late ticks": { unit: "ticks", value: more },
      "highest memory": { unit: "MiB", value: memory.peakRssBytes / MIB },
      "checks failed": { unit: "checks", value: checks.filter(({ ok }) => !ok).length },
    };
    return figures;
  },
  goals: [
    { says: "speed held", of: of("speed held"), atLeast: 1 },
    { says: "ticks of the agent that were late, once jobs were placed", of: of("agent's late ticks"), atMost: 0 },
    { says: "checks failed", of: of("checks failed"), atMost: 0 },
  ],
};

function of(name: string) {
  return (figures: Readonly<Record<string, number>>) => figures[name] ?? Number.NaN;
}

function started() {
  const flags = ["--nodes", String(NODES), "--speed", "1", "--duration", `${SECONDS}s`, "--json"];
  const child = spawn(process.execPath, [joulie, "demo", ...flags], { stdio: ["ignore", "pipe", "pipe"] });
  let [out, said] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const ended = new Promise<DemoSummary>((resolve, reject) => {
    child.on("close", () => {
      if (out === "") reject(new Error(`the demo has failed: ${said}`));
      else resolve(JSON.parse(out) as DemoSummary);
    });
  });
  /** Number of ticks that were still running when the next one was due. */
  const lateTicks = async (): Promise<number> => {
    const [, agent] = /^ {2}metrics +\S+ (\S+)/m.exec(said) ?? [];
    if (agent === undefined) throw new Error(`the demo has not said where its metrics are: ${said}`);
    const text = await (await fetch(agent)).text();
    return Number(/^joulie_agent_nodes_skipped_total\{reason="pending"\} (\d+)/m.exec(text)?.[1] ?? 0);
  };
  return { ended, lateTicks };
}
