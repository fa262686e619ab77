import { z } from "zod";
import { type Percent, percent, type Watts, watts } from "../../core/units/index.ts";
import type { Machine } from "./machine.ts";

/** What came of a command, as POST /control/{node} answers. */
export interface ControlOutcome {
  readonly result: "applied" | "blocked" | "error";
  readonly message: string;
}

const positive = z.number().positive();
const command = z.discriminatedUnion("action", [
  z.object({ action: z.literal("rapl.set_power_cap_watts"), capWatts: positive }),
  z.object({ action: z.literal("dvfs.set_throttle_pct"), throttlePct: z.number().min(0).max(100) }),
  z.object({ action: z.literal("gpu.set_power_cap_watts"), capWattsPerGpu: positive }),
]);
const addressed = z.object({ node: z.string().optional() });

/** Reads a command and does it; `machine` is in the present. */
export function control(machine: Machine, body: unknown): ControlOutcome {
  const { name } = machine.spec;
  const to = addressed.safeParse(body).data?.node;
  if (to !== undefined && to !== name) return wrong(`the command is for ${JSON.stringify(to)}, and this is ${name}`);
  const read = command.safeParse(body);
  if (!read.success) {
    const [issue] = read.error.issues;
    return wrong(`the command cannot be read at ${issue?.path.join(".") || "its top"}: ${issue?.message ?? "unknown"}`);
  }
  const { data } = read;
  if (data.action === "rapl.set_power_cap_watts") return capCpu(machine, watts(data.capWatts));
  if (data.action === "dvfs.set_throttle_pct") return throttle(machine, percent(data.throttlePct));
  return capGpu(machine, watts(data.capWattsPerGpu));
}

const wrong = (message: string): ControlOutcome => ({ result: "error", message });
const applied = (message: string): ControlOutcome => ({ result: "applied", message });

function capCpu(machine: Machine, asked: Watts): ControlOutcome {
  const { minWattsPerSocket: min = watts(0), maxWattsPerSocket: max } = machine.spec.hardware.cpu;
  const cap = within(asked, min, max);
  machine.cap({ cpuWattsPerPackage: cap });
  return applied(said(cap, asked, "a package", min, max));
}

function throttle(machine: Machine, throttlePct: Percent): ControlOutcome {
  machine.cap({ throttlePct });
  return applied(`${throttlePct} % of the cores are held at their slowest clock`);
}

function capGpu(machine: Machine, asked: Watts): ControlOutcome {
  const { gpu } = machine.spec.hardware;
  if (gpu === undefined) return { result: "blocked", message: "this node has no GPU" };
  const cap = within(asked, gpu.minWatts, gpu.maxWatts);
  machine.cap({ gpuWattsPerBoard: cap });
  return applied(said(cap, asked, "a GPU", gpu.minWatts, gpu.maxWatts));
}

const within = (asked: Watts, min: Watts, max: Watts): Watts => watts(Math.min(max, Math.max(min, asked)));

const said = (cap: Watts, asked: Watts, of: string, min: Watts, max: Watts): string =>
  cap === asked ? `${cap} W ${of}` : `${cap} W ${of}: ${asked} W is out of its range of ${min} to ${max} W`;
