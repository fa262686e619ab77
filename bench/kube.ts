import { type ChildProcess, execFile, fork } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { MeasurementRequest } from "./kube-measurement.ts";
import type { BenchFigure, Scenario } from "./scenario.ts";

const here = (file: string) => join(import.meta.dirname, file);
const PATCHES = { ours: 20_000, official: 2000 } as const;
const CONCURRENCY = 16;

interface Served {
  readonly child: ChildProcess;
  readonly port: number;
  readonly events: number;
}
let served: Promise<Served> | undefined;

type Client = "ours" | "official";

const asked: readonly { what: MeasurementRequest["what"]; figure: string; unit: string }[] = [
  { what: "nodes", figure: "5,000 Nodes list to store", unit: "ms" },
  { what: "events", figure: "watch events", unit: "per s" },
  { what: "patches", figure: "apply patches", unit: "per s" },
  { what: "memory", figure: "memory with 50,000 pods", unit: "MiB" },
];

export const scenario: Scenario = {
  about:
    "Joulie's Kubernetes client against @kubernetes/client-node, each in its own process, against fixed replies of a third one",
  repeats: 5,
  measure: async () => {
    served ??= serve();
    const { port, events } = await served;
    const figures: Record<string, BenchFigure> = {};
    // Alternates the clients for each figure, so that load on the machine affects both.
    for (const { what, figure, unit } of asked) {
      for (const client of ["ours", "official"] as const) {
        const patches = PATCHES[client];
        const { value, cpu, connections } = await run(client, {
          port,
          what,
          events,
          patches,
          concurrency: CONCURRENCY,
        });
        figures[`${client}: ${figure}`] = { unit, value };
        if (what === "events") figures[`${client}: processor per watch event`] = { unit: "µs", value: cpu };
        if (what !== "patches") continue;
        figures[`${client}: connections per 1,000 patches`] = { unit: "", value: (connections * 1000) / patches };
      }
    }
    figures["memory of a Node that does nothing"] = { unit: "MiB", value: (await run("nothing")).value };
    return figures;
  },
  goals: [
    { says: "patches, ours / official", of: ratio("apply patches"), atLeast: 5 },
    { says: "watch events, ours / official", of: ratio("watch events"), atLeast: 1.5 },
    { says: "processor per watch event, ours / official", of: ratio("processor per watch event"), atMost: 0.67 },
    { says: "memory with 50,000 pods, ours / official", of: ratio("memory with 50,000 pods"), atMost: 0.5 },
    { says: "5,000 Nodes, ours / official", of: ratio("5,000 Nodes list to store"), atMost: 1 },
  ],
  close: async () => {
    (await served)?.child.disconnect();
  },
};

function ratio(figure: string) {
  return (figures: Readonly<Record<string, number>>): number =>
    (figures[`ours: ${figure}`] ?? Number.NaN) / (figures[`official: ${figure}`] ?? Number.NaN);
}

async function serve(): Promise<Served> {
  const child = fork(here("kube-server.ts"), { stdio: "inherit" });
  const told = await new Promise<{ port: number; events: number }>((resolve, reject) => {
    child.once("message", (message) => resolve(message as { port: number; events: number }));
    child.once("error", reject);
  });
  // Prepares all replies before the first client connects.
  await fetch(`http://127.0.0.1:${told.port}/prepare`);
  return { child, ...told };
}

async function run(
  client: Client,
  asked: MeasurementRequest,
): Promise<{ value: number; cpu: number; connections: number }>;
async function run(client: "nothing"): Promise<{ value: number }>;
async function run(client: Client | "nothing", asked?: MeasurementRequest): Promise<unknown> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--expose-gc", here(`kube-${client}.ts`), JSON.stringify(asked ?? {})],
    { maxBuffer: 2 ** 20 },
  );
  return JSON.parse(stdout) as unknown;
}
