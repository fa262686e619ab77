import { loadavg } from "node:os";
import { extenderPermissions } from "../src/programs/extender/permissions.ts";
import { type ControlPlane, startControlPlane } from "../test/controlplane/harness.ts";
import { quantile } from "./extender-client.ts";
import { ExtenderProcess } from "./extender-process.ts";
import type { BenchFigure, Scenario } from "./scenario.ts";
import { NODES, podsPerSecond, populate, RUN_LIMIT_MS } from "./scheduling-run.ts";

const PODS = 2000;
const MAX_RUNS = 5;

/** Number of runs per cell, fewer for slow cells. With whole Nodes each takes 45 s and runs once. */
interface Cell {
  readonly name: string;
  readonly extender: "none" | "stub" | "ours" | "echo" | "plain";
  readonly nodeCacheCapable?: boolean;
  /** 0: kube-scheduler's default, which at this size scores only some of the nodes. */
  readonly percentageOfNodesToScore: number;
  readonly runs: number;
}

const cells: readonly Cell[] = [0, 100].flatMap((percentageOfNodesToScore): readonly Cell[] => {
  const share = percentageOfNodesToScore === 0 ? "default" : "100 %";
  const runs = percentageOfNodesToScore === 0 ? MAX_RUNS : 3;
  const names = { nodeCacheCapable: true, percentageOfNodesToScore, runs };
  const whole = { nodeCacheCapable: false, percentageOfNodesToScore, runs: 1 };
  return [
    { name: `no extender, ${share}`, extender: "none", percentageOfNodesToScore, runs },
    { name: `stub by names, ${share}`, extender: "stub", ...names },
    { name: `ours by names, ${share}`, extender: "ours", ...names },
    { name: `echo of whole Nodes, ${share}`, extender: "echo", ...whole },
    { name: `ours with whole Nodes, ${share}`, extender: "ours", ...whole },
    { name: `plain with whole Nodes, ${share}`, extender: "plain", ...whole },
  ];
});

let plane: ControlPlane | undefined;
const extenders = new Map<string, ExtenderProcess>();

export const scenario: Scenario = {
  about: `Pods a second of a real kube-scheduler, ${NODES} nodes as kubelets report them, ${PODS} pods: without an extender, with ours, with a stub and with a plain one. Each run ends with the last pod bound or after ${RUN_LIMIT_MS / 1000} s; medians where there are several`,
  repeats: 1,
  measure: async (say) => {
    const figures: Record<string, BenchFigure> = {
      "load average before": { unit: "", value: loadavg()[0] ?? Number.NaN },
    };
    say("control plane");
    plane = await startControlPlane();
    say(`${NODES} nodes`);
    await populate(plane);
    const identity = await plane.identity(extenderPermissions, { name: "joulie-extender" });
    extenders.set("ours", await ExtenderProcess.ours(identity.kubeconfig));
    extenders.set("stub", await ExtenderProcess.other("scheduling-stub.ts", ["names"]));
    extenders.set("echo", await ExtenderProcess.other("scheduling-stub.ts", ["echo"]));
    extenders.set("plain", await ExtenderProcess.other("extender-plain.ts", [String(NODES)]));
    // Round-robin, so that all cells see the same machine load.
    const rates = new Map<string, number[]>(cells.map(({ name }) => [name, []]));
    for (let round = 0; round < MAX_RUNS; round++) {
      for (const cell of cells) {
        if (round >= cell.runs) continue;
        say(`round ${round + 1} of ${MAX_RUNS}, ${cell.name}`);
        rates.get(cell.name)?.push(await run(plane, cell, round));
      }
    }
    for (const [name, values] of rates) figures[name] = { unit: "pods per s", value: quantile(values, 0.5) };
    figures["load average after"] = { unit: "", value: loadavg()[0] ?? Number.NaN };
    return figures;
  },
  goals: [
    ratio("ours by names, default", "stub by names, default", 0.9),
    ratio("ours by names, 100 %", "stub by names, 100 %", 0.9),
    ratio("ours with whole Nodes, default", "plain with whole Nodes, default", 1.2),
    ratio("ours with whole Nodes, 100 %", "plain with whole Nodes, 100 %", 1.2),
  ],
  close: async () => {
    await Promise.all(Array.from(extenders.values(), async (extender) => extender.stop()));
    await plane?.stop();
  },
};

function ratio(ours: string, theirs: string, atLeast: number) {
  return {
    says: `${ours}, against ${theirs}`,
    of: (figures: Readonly<Record<string, number>>) => (figures[ours] ?? Number.NaN) / (figures[theirs] ?? Number.NaN),
    atLeast,
  };
}

async function run(control: ControlPlane, cell: Cell, round: number): Promise<number> {
  const { name, percentageOfNodesToScore, nodeCacheCapable } = cell;
  const extenderPort = extenders.get(cell.extender)?.port;
  const namespace = `${name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replace(/-$/, "")}-${round}`;
  return podsPerSecond(control, { namespace, pods: PODS, percentageOfNodesToScore, extenderPort, nodeCacheCapable });
}
