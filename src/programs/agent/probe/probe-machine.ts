import { type CapDevice, type CapIntent, powerBetween, resolveCap } from "../../../core/control/index.ts";
import type { HardwareView } from "../../../core/inventory/index.ts";
import { milliseconds, type Percent, type Watts } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import type { PowerCapBackend } from "../../../platform/hardware/index.ts";
import type { HostMachine } from "../host/host.ts";

const MEASURED_OVER = milliseconds(1000);

export interface ProbeInput {
  readonly status: Awaited<ReturnType<HostMachine["discover"]>>;
  readonly view: HardwareView;
  readonly cpuPct: Percent;
  readonly gpuPct: Percent;
  readonly lowestKHz: number;
}

export async function probeMachine(machine: HostMachine, clock: Clock, input: ProbeInput) {
  const { status, view, cpuPct, gpuPct, lowestKHz } = input;
  const { cpu, memory, quality, gpu } = status;
  const known = view.cpu.from.maxWatts === "fallback" ? undefined : view.cpu.maxWattsPerSocket;
  const [energy, backends, policies, throttle] = await Promise.all([
    measured(machine, clock),
    Promise.all(
      [...machine.cpuCaps, machine.gpu].map(async (backend) =>
        probeBackend(
          backend,
          { pctOfMax: backend.kind === "cpu" ? cpuPct : gpuPct },
          backend.kind === "cpu" ? known : undefined,
        ),
      ),
    ),
    machine.frequencies(false),
    machine.throttle.discover(),
  ]);
  return {
    cpu: {
      model: cpu?.rawModel ?? cpu?.model,
      vendor: cpu?.vendor,
      sockets: cpu?.sockets,
      cores: cpu?.totalCores,
      driver: cpu?.driverFamily,
      catalogue: `${view.cpu.key} (${view.cpu.match})`,
    },
    memoryBytes: memory?.totalBytes,
    backends,
    throttle: { name: machine.throttle.name, absent: throttle.absent, policies: policies.length, lowestKHz },
    energy,
    warnings: [...new Set([...(quality?.warnings ?? []), ...(cpu?.warnings ?? []), ...(gpu?.warnings ?? [])])],
  };
}

async function measured({ energy }: HostMachine, clock: Clock) {
  const before = new Map(energy.sample().zones.map((zone) => [zone.zone, zone]));
  if (before.size > 0) await clock.sleep(MEASURED_OVER);
  const { zones, missing } = energy.sample();
  return {
    zones: zones.map(({ zone, sample, counter }) => {
      const first = before.get(zone);
      return { zone, watts: first && powerBetween(first.sample, sample, counter).power };
    }),
    missing,
  };
}

async function probeBackend(backend: PowerCapBackend, intent: CapIntent, known: Watts | undefined) {
  const { kind } = backend;
  const view = await backend.discover();
  // The name is read after `discover`, which selects the GPU backend.
  if (view.boards === undefined)
    return { name: kind === "gpu" ? "gpu" : backend.name, kind, absent: view.absent, boards: [] };
  const powers = new Map((await backend.power?.())?.map(({ id, power }) => [id, power]));
  const boards = await Promise.all(
    view.boards.map(async ({ id, model, device, lost, locked, warnings = [] }) => {
      const { limit } = lost === undefined ? await backend.limit(id) : {};
      const range: CapDevice = { ...device, max: device.max ?? known, original: limit };
      const problem = lost ?? locked;
      const wouldSet = problem === undefined ? intended(intent, range) : "nothing";
      return { id, model, min: device.min, max: range.max, limit, watts: powers.get(id), wouldSet, problem, warnings };
    }),
  );
  return { name: backend.name, kind, boards };
}

function intended(intent: CapIntent, device: CapDevice): string {
  const cap = resolveCap(intent, device);
  if (cap.kind === "watts") return cap.clamped === undefined ? `${cap.watts} W` : `${cap.watts} W (${cap.clamped})`;
  return cap.kind === "percent" ? "no cap in watts: its maximum is unknown" : "no limit";
}

export type Probe = Awaited<ReturnType<typeof probeMachine>>;
