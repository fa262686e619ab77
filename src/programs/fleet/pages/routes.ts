import type { Instant } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import type { Reply } from "../../../platform/serve/index.ts";
import { applyControlCommand } from "../machines/control.ts";
import type { Datacenter } from "../machines/datacenter.ts";
import type { SimulatedMachine } from "../machines/simulated-machine.ts";
import { siteMetric } from "./fleet-metrics.ts";

const json = (status: number, value: unknown): Reply => ({
  status,
  type: "application/json",
  body: `${JSON.stringify(value)}\n`,
});

const unreachable = ({ spec, power }: SimulatedMachine): Reply =>
  json(503, { error: `the node ${spec.name} does not answer: it is ${power}` });

const unknownNode = (node: string): string => `there is no simulated node ${JSON.stringify(node)} here`;

/** HTTP routes of simulated nodes. `ts` in responses is simulated time. */
export class NodeRoutes {
  readonly #datacenter: Datacenter;
  readonly #clock: Clock;

  constructor(datacenter: Datacenter, clock: Clock) {
    this.#datacenter = datacenter;
    this.#clock = clock;
  }

  telemetry(node: string): Reply {
    const machine = this.#datacenter.machine(node);
    if (machine === undefined) return json(404, { error: unknownNode(node) });
    if (machine.power !== "on") return unreachable(machine);
    return json(200, telemetryOf(machine, this.#clock.now()));
  }

  control(node: string, body: string): Reply {
    const machine = this.#datacenter.machine(node);
    if (machine === undefined) return json(404, { result: "error", message: unknownNode(node) });
    if (machine.power !== "on") return unreachable(machine);
    const outcome = this.#datacenter.change(machine, () => applyControlCommand(machine, parsed(body)));
    const status = outcome.result === "error" ? (outcome.newest === undefined ? 400 : 409) : 200;
    return json(status, { ...outcome, state: telemetryOf(machine, this.#clock.now()) });
  }

  query(expression: string | null): Reply {
    const name = expression?.trim() ?? "";
    if (!/^[a-zA-Z_:][\w:]*$/.test(name)) {
      const error = `${JSON.stringify(name.slice(0, 80))} is not supported; ask for a metric of the site by its name`;
      return json(400, { status: "error", errorType: "bad_data", error });
    }
    const value = siteMetric(this.#datacenter, name);
    const sample = [this.#clock.now() / 1000, String(value)];
    const result = value === undefined ? [] : [{ metric: { __name__: name }, value: sample }];
    return json(200, { status: "success", data: { resultType: "vector", result } });
  }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

const iso = (at: Instant): string => new Date(at).toISOString();

/** The top-level power is the node's including GPUs. Caps are per package or board, and absent if unset. */
function telemetryOf({ spec, physics, watts }: SimulatedMachine, at: Instant) {
  const { operation, caps, temperature } = physics;
  const { gpus, hardware } = spec;
  return {
    node: spec.name,
    ts: iso(at),
    packagePowerWatts: watts,
    instantPackagePowerWatts: watts,
    cpu: {
      packagePowerWatts: operation.cpuWatts,
      instantPowerWatts: operation.cpuWatts,
      utilization: operation.cpuLoad,
      freqScale: operation.cpuClock,
      temperatureC: temperature,
      throttlePct: caps.throttlePct ?? 0,
      capWatts: caps.cpuWattsPerPackage,
    },
    gpu:
      gpus === undefined
        ? { present: false, count: 0 }
        : {
            present: true,
            vendor: gpus.vendor,
            product: gpus.product,
            count: gpus.count,
            powerWattsTotal: operation.gpuWatts,
            avgPowerWattsTotal: operation.gpuWatts,
            utilization: operation.gpuLoad,
            capWattsPerGpuApplied: caps.gpuWattsPerBoard ?? hardware.gpu?.defaultWatts,
            capWattsPerGpuTarget: caps.gpuWattsPerBoard,
          },
    pods: physics.jobCount,
  };
}
