import { createHash, timingSafeEqual } from "node:crypto";
import type { NodePowerState } from "../../../core/api/index.ts";
import type { Reply } from "../../../platform/serve/index.ts";
import type { Datacenter, PowerAction } from "../machines/datacenter.ts";
import type { SimulatedMachine } from "../machines/simulated-machine.ts";
import { systemUuidOf } from "../names.ts";

export interface RedfishRequest {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: string;
}

const ROOT = "/redfish/v1";
const SYSTEMS = `${ROOT}/Systems`;
const RESET = "/Actions/ComputerSystem.Reset";
const REDFISH_USER = "joulie";

const actions: Readonly<Record<string, PowerAction>> = {
  On: "on",
  GracefulShutdown: "shutdown",
  ForceOff: "forceOff",
};

/** As BMCs say: a machine that shuts down, boots or hangs has power. */
const powerStateOf = (power: NodePowerState): "On" | "Off" => (power === "off" ? "Off" : "On");

/** The BMCs of all simulated machines. A reset is accepted at once and takes the machine's time. */
export class RedfishService {
  readonly #datacenter: Datacenter;
  readonly #expected: Buffer | undefined;

  constructor(datacenter: Datacenter, password: string | undefined) {
    this.#datacenter = datacenter;
    this.#expected = password === undefined ? undefined : digest(basicAuthorization(REDFISH_USER, password));
  }

  serves(path: string): boolean {
    return path === ROOT || path.startsWith(`${ROOT}/`);
  }

  answer({ method, path: given, authorization, body }: RedfishRequest): Reply {
    const path = given.replace(/\/$/, "");
    const isPost = method === "POST";
    if (path === ROOT) return json(200, serviceRoot);
    if (!this.#isAllowed(authorization)) return error(401, "the user name or the password is wrong");
    if (path === SYSTEMS && !isPost) return json(200, this.#collection());
    const isReset = path.endsWith(RESET);
    const machine = this.#machineAt(isReset ? path.slice(0, -RESET.length) : path);
    if (machine === undefined || isReset !== isPost) return error(404, "there is no such resource");
    return isReset ? this.#reset(machine, body) : json(200, systemOf(machine));
  }

  #isAllowed(authorization: string | undefined): boolean {
    return this.#expected === undefined || timingSafeEqual(digest(authorization ?? ""), this.#expected);
  }

  #collection(): unknown {
    const members = Array.from(this.#datacenter.machines(), ({ spec }) => ({ "@odata.id": pathOf(spec.name) }));
    return {
      "@odata.id": SYSTEMS,
      "@odata.type": "#ComputerSystemCollection.ComputerSystemCollection",
      Name: "Simulated machines",
      "Members@odata.count": members.length,
      Members: members,
    };
  }

  #machineAt(path: string): SimulatedMachine | undefined {
    const [, escaped] = /^\/redfish\/v1\/Systems\/([^/]+)$/.exec(path) ?? [];
    if (escaped === undefined) return undefined;
    try {
      return this.#datacenter.machine(decodeURIComponent(escaped));
    } catch {
      return undefined;
    }
  }

  #reset(machine: SimulatedMachine, body: string): Reply {
    const type = resetTypeIn(body);
    const action = type !== undefined && Object.hasOwn(actions, type) ? actions[type] : undefined;
    if (action === undefined) return error(400, `ResetType must be one of ${Object.keys(actions).join(", ")}`);
    this.#datacenter.press(machine, action);
    return { status: 204, type: "application/json", body: "" };
  }
}

const pathOf = (node: string): string => `${SYSTEMS}/${encodeURIComponent(node)}`;

const serviceRoot = {
  "@odata.id": `${ROOT}/`,
  "@odata.type": "#ServiceRoot.v1_5_0.ServiceRoot",
  Id: "RootService",
  Name: "Simulated BMCs",
  RedfishVersion: "1.6.0",
  Vendor: "Joulie",
  Systems: { "@odata.id": SYSTEMS },
};

function systemOf({ spec, power }: SimulatedMachine): unknown {
  const path = pathOf(spec.name);
  return {
    "@odata.id": path,
    "@odata.type": "#ComputerSystem.v1_1_0.ComputerSystem",
    Id: spec.name,
    Name: spec.name,
    SystemType: "Physical",
    // In capitals, as some BMCs write it.
    UUID: systemUuidOf(spec.name).toUpperCase(),
    PowerState: powerStateOf(power),
    Actions: {
      "#ComputerSystem.Reset": {
        target: `${path}${RESET}`,
        "ResetType@Redfish.AllowableValues": Object.keys(actions),
      },
    },
  };
}

function resetTypeIn(body: string): string | undefined {
  try {
    const { ResetType: type } = JSON.parse(body) as { readonly ResetType?: unknown };
    return typeof type === "string" ? type : undefined;
  } catch {
    return undefined;
  }
}

const basicAuthorization = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;

/** Texts of different length cannot be compared in constant time, their digests can. */
const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

const json = (status: number, value: unknown): Reply => ({
  status,
  type: "application/json",
  body: `${JSON.stringify(value)}\n`,
  headers: { "odata-version": "4.0" },
});
const error = (status: number, message: string): Reply =>
  json(status, { error: { code: "Base.1.0.GeneralError", message } });
