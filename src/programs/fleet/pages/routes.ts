import type { Clock } from "../../../platform/clock/index.ts";
import type { Reply } from "../../../platform/serve/index.ts";
import { applyControlCommand } from "../machines/control.ts";
import type { Datacenter } from "../machines/datacenter.ts";
import type { SimulatedMachine } from "../machines/simulated-machine.ts";
import { queryableMetrics } from "./facility.ts";
import { QueryError, runQuery, type Selected } from "./query.ts";
import { stateOf, telemetryOf } from "./telemetry.ts";

const json = (status: number, value: unknown): Reply => ({
  status,
  type: "application/json",
  body: `${JSON.stringify(value)}\n`,
});

/** A machine that is not on answers nothing; in its place the network answers. */
const unreachable = ({ spec, power }: SimulatedMachine): Reply =>
  json(503, { error: `the node ${spec.name} does not answer: it is ${power}` });

const unknownNode = (node: string): string => `there is no simulated node ${JSON.stringify(node)} here`;

/** HTTP routes of simulated nodes. `ts` in responses is simulated time. */
export class NodeRoutes {
  readonly #datacenter: Datacenter;
  readonly #clock: Clock;
  readonly #families;

  constructor(datacenter: Datacenter, clock: Clock) {
    this.#datacenter = datacenter;
    this.#clock = clock;
    this.#families = queryableMetrics(datacenter);
  }

  telemetry(node: string): Reply {
    const machine = this.#datacenter.machine(node);
    if (machine === undefined) return json(404, { error: unknownNode(node) });
    if (machine.power !== "on") return unreachable(machine);
    return json(200, telemetryOf(machine, this.#clock.now()));
  }

  state(node: string): Reply {
    const machine = this.#datacenter.machine(node);
    if (machine === undefined) return json(404, { error: unknownNode(node) });
    return json(200, stateOf(machine, this.#clock.now()));
  }

  control(node: string, body: string): Reply {
    const machine = this.#datacenter.machine(node);
    if (machine === undefined) return json(404, { result: "error", message: unknownNode(node) });
    if (machine.power !== "on") return unreachable(machine);
    const outcome = this.#datacenter.change(machine, () => applyControlCommand(machine, parsed(body)));
    const status = outcome.result === "error" ? (outcome.newest === undefined ? 400 : 409) : 200;
    return json(status, { ...outcome, state: telemetryOf(machine, this.#clock.now()) });
  }

  /** Responds as Prometheus does to an instant query. */
  query(expression: string | null): Reply {
    try {
      if (expression === null || expression.trim() === "") throw new QueryError("the query is missing");
      const at = this.#clock.now() / 1000;
      const result = runQuery(expression, this.#families).map((one) => elementOf(one, at));
      return json(200, { status: "success", data: { resultType: "vector", result } });
    } catch (error) {
      if (!(error instanceof QueryError)) throw error;
      return json(400, { status: "error", errorType: "bad_data", error: error.message });
    }
  }
}

const elementOf = ({ name, labels, value }: Selected, at: number) => ({
  metric: { __name__: name, ...labels },
  value: [at, String(value)],
});

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
