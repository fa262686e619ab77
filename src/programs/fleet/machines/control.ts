import * as z from "zod";
import { packageCapFloor } from "../../../core/inventory/index.ts";
import { formatWatts, type Percent, percent, type Watts, watts } from "../../../core/units/index.ts";
import type { SimulatedMachine } from "./simulated-machine.ts";

export interface ControlOutcome {
  readonly result: "applied" | "blocked" | "error";
  readonly message: string;
  readonly ordered?: true;
  /** Of a command that came too late: the time stamp of the newest one. */
  readonly newest?: string;
}

const positive = z.number().positive();
/** Both optional: the path names the node as well, and commands without a time stamp are never too late. */
const header = { node: z.string().optional(), ts: z.iso.datetime({ offset: true }).optional() };
const command = z.discriminatedUnion("action", [
  z.object({ ...header, action: z.literal("rapl.set_power_cap_watts"), capWatts: positive }),
  z.object({ ...header, action: z.literal("dvfs.set_throttle_pct"), throttlePct: z.number().min(0).max(100) }),
  z.object({ ...header, action: z.literal("gpu.set_power_cap_watts"), capWattsPerGpu: positive }),
]);

/** Parses and applies a command. `machine` must be advanced to the present. */
export function applyControlCommand(machine: SimulatedMachine, body: unknown): ControlOutcome {
  const { name } = machine.spec;
  const read = command.safeParse(body);
  if (!read.success) {
    const [issue] = read.error.issues;
    return wrong(`invalid command at ${issue?.path.join(".") || "its top"}: ${issue?.message ?? "unknown"}`);
  }
  const { data } = read;
  if (data.node !== undefined && data.node !== name)
    return wrong(`the command is for ${JSON.stringify(data.node)}, but this node is ${name}`);
  const newest = machine.newestCommands.get(data.action);
  const sentAt = data.ts === undefined ? undefined : Date.parse(data.ts);
  if (sentAt !== undefined && newest !== undefined && sentAt < newest)
    return { ...wrong("a newer command was carried out already"), newest: new Date(newest).toISOString() };
  if (sentAt !== undefined) machine.newestCommands.set(data.action, sentAt);
  return { ...carryOut(machine, data), ordered: true };
}

function carryOut(machine: SimulatedMachine, data: z.infer<typeof command>): ControlOutcome {
  if (data.action === "rapl.set_power_cap_watts") return capCpu(machine, watts(data.capWatts));
  if (data.action === "dvfs.set_throttle_pct") return throttle(machine, percent(data.throttlePct));
  return capGpu(machine, watts(data.capWattsPerGpu));
}

const wrong = (message: string): ControlOutcome => ({ result: "error", message });
const applied = (message: string): ControlOutcome => ({ result: "applied", message });

function capCpu(machine: SimulatedMachine, asked: Watts): ControlOutcome {
  const { cpu } = machine.spec.hardware;
  const [min, max] = [packageCapFloor(cpu), cpu.maxWattsPerSocket];
  const cap = within(asked, min, max);
  machine.cap({ cpuWattsPerPackage: cap });
  const { cpuSaturated, cpuWatts } = machine.physics.operation;
  return applied(`${said(cap, asked, "a package", min, max)}${kept(cpuSaturated, cpuWatts, "all packages draw")}`);
}

function throttle(machine: SimulatedMachine, throttlePct: Percent): ControlOutcome {
  machine.cap({ throttlePct });
  return applied(`${throttlePct} % of the cores are held at their slowest clock`);
}

function capGpu(machine: SimulatedMachine, asked: Watts): ControlOutcome {
  const { gpu } = machine.spec.hardware;
  if (gpu === undefined) return { result: "blocked", message: "this node has no GPU" };
  const cap = within(asked, gpu.minWatts, gpu.maxWatts);
  machine.cap({ gpuWattsPerBoard: cap });
  const { gpuSaturated, gpuWatts } = machine.physics.operation;
  const set = said(cap, asked, "a GPU", gpu.minWatts, gpu.maxWatts);
  return applied(`${set}${kept(gpuSaturated, gpuWatts, "all GPUs draw")}`);
}

const within = (asked: Watts, min: Watts, max: Watts): Watts => watts(Math.min(max, Math.max(min, asked)));

const said = (cap: Watts, asked: Watts, of: string, min: Watts, max: Watts): string =>
  cap === asked
    ? `${formatWatts(cap)} ${of}`
    : `${formatWatts(cap)} ${of}: ${formatWatts(asked)} is out of its range of ${min} to ${formatWatts(max)}`;

/** Appended when a cap cannot be met: even at the slowest clock the work draws more. */
const kept = (saturated: boolean, drawn: Watts, who: string): string =>
  saturated ? `; the cap cannot be met: at the slowest clock ${who} ${formatWatts(drawn, 0)} together` : "";
