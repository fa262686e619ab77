// The operator and the power program as processes that SIGKILL ends at each step of a sleep and of a wake.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundle } from "../../scripts/bundle.ts";
import { asleepTaint, type PowerEndpointStatus, type PowerOutcome } from "../../src/core/api/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { eventually } from "../../src/platform/clock/testing/index.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import { type KillPoint, type ProcessedRequest, ProgramProcess } from "./program-process.ts";
import { SleepScene } from "./sleep-scene.ts";
import { operatorVariables, powerVariables } from "./sleep-settings.ts";

const NODES = 12;
const PODS = 48;
const variables = {
  operator: operatorVariables,
  power: powerVariables,
};
type Program = keyof typeof variables;

const statusIn = ({ path, body }: ProcessedRequest): PowerEndpointStatus | undefined =>
  /\/powerendpoints\/[^/]+\/status/.test(path) ? (body as { readonly status?: PowerEndpointStatus }).status : undefined;
const step = (name: string): KillPoint => ({
  name: `step ${name} written`,
  after: (sent) => statusIn(sent)?.operation?.step === name,
});
/** The last write of a sleep or wake. Later writes repeat its result. */
const ended = (name: string, result: (status: PowerEndpointStatus) => PowerOutcome | undefined): KillPoint => ({
  name,
  after: (sent) => {
    const status = statusIn(sent);
    const isNow = systemClock.now() - Date.parse((status && result(status)?.at) ?? "") < 3000;
    return status !== undefined && status.operation === undefined && isNow;
  },
});
const taint = (name: string, isSet: boolean): KillPoint => ({
  name,
  after: ({ path, body }) =>
    /^\/api\/v1\/nodes\/[^/]+$/.test(path.replace(/\?.*/, "")) &&
    JSON.stringify(body).includes(asleepTaint.key) === isSet,
});
const twin = (name: string, part: "spec" | "status", state: string): KillPoint => ({
  name,
  after: ({ path, body }) => {
    const isStatus = path.includes("/status");
    const { [part]: fields } = body as Readonly<Record<string, { readonly power?: { readonly state?: string } }>>;
    return path.includes("/nodetwins/") && isStatus === (part === "status") && fields?.power?.state === state;
  },
});

const points: Readonly<Record<"sleep" | "wake", Readonly<Record<Program, readonly KillPoint[]>>>> = {
  sleep: {
    operator: [twin("asked for off", "spec", "off")],
    power: [
      step("taint"),
      taint("taint set", true),
      step("count"),
      step("shutdown"),
      { name: "shutdown sent", afterPress: "shutdown" },
      step("force"),
      { name: "power cut", afterPress: "forceOff" },
      ended("sleep recorded", ({ lastSleep }) => lastSleep),
      twin("off published", "status", "off"),
    ],
  },
  wake: {
    operator: [twin("asked for on", "spec", "on")],
    power: [
      step("on"),
      { name: "switched on", afterPress: "on" },
      step("ready"),
      step("untaint"),
      taint("taint removed", false),
      ended("wake recorded", ({ lastWake }) => lastWake),
      twin("on published", "status", "on"),
    ],
  },
};

describe("sleep while programs are killed, on a real control plane", () => {
  const folder = mkdtempSync(join(tmpdir(), "joulie-kills-"));
  const mains = { operator: join(folder, "operator/joulie.mjs"), power: join(folder, "power/joulie.mjs") };
  const running = new Map<Program, ProgramProcess>();
  let plane: ControlPlane;
  let scene: SleepScene;
  beforeAll(async () => {
    await bundle(mains.operator);
    await bundle(mains.power, join(import.meta.dirname, "fast-power.ts"));
    plane = await startControlPlane({ scheduler: {}, controllerManager: true });
    scene = await SleepScene.open(plane, { nodes: NODES });
    await scene.power.stop();
    // Half of the machines lose their power only by force.
    for (const [index, { spec }] of Array.from(scene.fleet.datacenter.machines()).entries())
      if (index % 2 === 0) scene.deaf.add(spec.name);
    scene.onPress = (_, action) => running.get("power")?.pressed(action);
  });
  afterAll(async () => {
    for (const program of running.values()) await program.stop();
    await scene?.close();
    await plane?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const start = async (program: Program, left: ReadonlySet<KillPoint>): Promise<ProgramProcess> => {
    await running.get(program)?.stop();
    // The next one need not wait until the Lease of the killed one expires.
    const lease = `/apis/coordination.k8s.io/v1/namespaces/joulie-system/leases/joulie-${program}`;
    await plane.api.text("DELETE", lease).catch(() => "");
    const identity = scene.identity(program);
    const process = await ProgramProcess.start({
      main: mains[program],
      program,
      identity,
      variables: variables[program],
      points: left,
    });
    running.set(program, process);
    return process;
  };
  /** Starts the program again and again, until it was killed at each point. Returns the points that it did not reach. */
  const killAtEach = async (program: Program, all: readonly KillPoint[]): Promise<readonly string[]> => {
    const left = new Set(all);
    while (left.size > 0) {
      const process = await start(program, left);
      let reached: KillPoint | undefined;
      void process.killed.then((point) => (reached = point));
      await eventually(() => reached !== undefined).catch(() => undefined);
      if (reached === undefined) return Array.from(left, ({ name }) => name);
      left.delete(reached);
    }
    await start(program, new Set());
    return [];
  };
  const nodes = async () => {
    const { items } = await plane.api.get<{
      readonly items: readonly { readonly metadata: { readonly name: string }; readonly spec: object }[];
    }>("/api/v1/nodes");
    return new Map(items.map(({ metadata, spec }) => [metadata.name, JSON.stringify(spec).includes(asleepTaint.key)]));
  };
  /** What users, the machine and the programs say about each node. */
  const agreement = async () => {
    const tainted = await nodes();
    const twins = new Map((await scene.twins()).map((one) => [one.metadata.name, one]));
    return (await scene.endpoints()).map(({ metadata: { name }, status }) => ({
      name,
      machine: scene.fleet.datacenter.machine(name)?.power,
      wanted: twins.get(name)?.spec.power?.state ?? "on",
      published: twins.get(name)?.status?.power?.state ?? "on",
      tainted: tainted.get(name),
      step: status?.operation?.step,
      wakeProven: status?.wakeProven,
    }));
  };
  const settled = (state: "on" | "off", name: string) => ({
    name,
    machine: state,
    wanted: state,
    published: state,
    tainted: state === "off",
    step: undefined,
    wakeProven: true,
  });
  /** Waits until nothing is in progress, and checks that all agree. */
  const settles = async (isEnough: (off: number) => boolean) => {
    let seen: Awaited<ReturnType<typeof agreement>> = [];
    const wanted = () => seen.map(({ name, machine }) => settled(machine === "off" ? "off" : "on", name));
    await eventually(async () => {
      const before = JSON.stringify(seen);
      seen = await agreement();
      const off = seen.filter(({ machine }) => machine === "off").length;
      return isEnough(off) && before === JSON.stringify(seen) && before === JSON.stringify(wanted());
    }).catch(() => undefined);
    expect(seen).toEqual(wanted());
    expect(isEnough(seen.filter(({ machine }) => machine === "off").length)).toBe(true);
  };

  it("SLP-22 nodes fall asleep although both programs are killed at every step", async () => {
    const missed = await Promise.all([
      killAtEach("power", points.sleep.power),
      killAtEach("operator", points.sleep.operator),
    ]);
    expect(missed).toEqual([[], []]);
    await settles((off) => off >= NODES / 3);
    expect(await scene.violations()).toEqual([]);
  });

  it("SLP-22 nodes wake for pods although both programs are killed at every step", async () => {
    await scene.createPods("burst", PODS, scene.coresForAll(PODS));
    const missed = await Promise.all([
      killAtEach("power", points.wake.power),
      killAtEach("operator", points.wake.operator),
    ]);
    expect(missed).toEqual([[], []]);
    await eventually(async () => {
      const pods = await scene.pods();
      return pods.filter(({ status }) => status.phase === "Running").length === PODS;
    });
    await settles((off) => off === 0);
    expect(await scene.violations()).toEqual([]);
  });
});
