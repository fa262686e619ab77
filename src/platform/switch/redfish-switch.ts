import type { RedfishEndpoint, SwitchState } from "../../core/api/index.ts";
import { sendsInTheClear } from "../http/index.ts";
import { type ConfirmSwitching, type MachineFacts, type PowerSwitch, PowerSwitchError } from "./power-switch.ts";
import { type SwitchAnswer, SwitchHttp, type SwitchHttpOptions, type SwitchRequest } from "./switch-http.ts";
import { uuidIn } from "./system-uuid.ts";

interface RedfishCredentials {
  readonly username: string;
  readonly password: string;
}

export interface RedfishSwitchOptions extends Pick<SwitchHttpOptions, "clock" | "timeout"> {
  readonly endpoint: RedfishEndpoint;
  readonly credentials?: RedfishCredentials | undefined;
  /** PEM certificates of the service. */
  readonly ca?: string | undefined;
}

type Fields = Readonly<Record<string, unknown>>;
type Action = "on" | "shutdown" | "forceOff";

/** What the service root says. */
interface Service {
  readonly systems: string;
  readonly sessions: string | undefined;
  /** It rejects basic authentication. Failed attempts may lock the account out, so none is made. */
  readonly needsSession: boolean;
}

interface System {
  readonly state: SwitchState;
  readonly reset: { readonly target: string; readonly allowed: readonly string[] | undefined };
  readonly etag: string | undefined;
  readonly uuid: string | undefined;
}

const ROOT = "/redfish/v1/";
/** Servers with an XCC denied access with basic authentication: github.com/lenovo/python-redfish-lenovo/issues/308. */
const NEEDS_SESSION = /\blenovo\b/i;

/** A machine on its way between two states has power. Other texts, such as `Paused`, are unknown. */
const powerStates: Readonly<Record<string, SwitchState>> = {
  On: "on",
  PoweringOn: "on",
  PoweringOff: "on",
  Off: "off",
};

/** In order of preference. PushPowerButton is never sent: it would switch a machine on that is already off. */
const resetTypes = {
  on: ["On", "ForceOn"],
  shutdown: ["GracefulShutdown"],
  forceOff: ["ForceOff"],
} as const satisfies Readonly<Record<Action, readonly string[]>>;

/** How a reset is sent again after 412 or 428: with the ETag as it is, without its weakness mark, without quotes. */
const etagVariants: readonly ((etag: string) => string)[] = [
  (etag) => etag,
  (etag) => etag.replace(/^W\//, ""),
  (etag) => etag.replace(/^W\//, "").replaceAll('"', ""),
];

const MAX_SYSTEMS = 64;
/** Of a reset that the state of the machine forbids. */
const WRONG_STATE: ReadonlySet<number> = new Set([400, 409]);
/** Of a new session that a service does not offer, or has none left for. */
const NO_SESSION: ReadonlySet<number> = new Set([404, 405, 501, 503]);

export function redfishUrl({ address }: RedfishEndpoint): URL {
  const url = URL.parse(address);
  if (url === null) throw new PowerSwitchError("refused", "redfish.address is not a URL");
  return url;
}

/**
 * A machine behind a Redfish service. Nothing of the service is trusted: every link must stay on its own origin. The test has a
 * list of the known differences between services, with sources.
 */
export class RedfishSwitch implements PowerSwitch {
  readonly #options: RedfishSwitchOptions;
  readonly #base: URL;
  readonly #http: SwitchHttp;
  facts: MachineFacts | undefined;
  /** What the last call of `state` has read, for the next action. */
  #lastRead: System | undefined;
  #service: Service | undefined;
  #system: string | undefined;
  #session: { readonly token: string; readonly location: string | undefined } | undefined;
  /** The service gave no session, so the password is sent with each call. */
  #withoutSession = false;

  constructor(options: RedfishSwitchOptions) {
    const { clock, timeout, ca, endpoint, credentials } = options;
    const { insecureSkipVerify = false } = endpoint;
    this.#options = options;
    this.#base = redfishUrl(endpoint);
    if (credentials !== undefined && !insecureSkipVerify && sendsInTheClear(this.#base))
      throw new PowerSwitchError(
        "refused",
        "redfish.address is http://, which would send the password unencrypted; use https:// or insecureSkipVerify",
      );
    this.#http = new SwitchHttp({ clock, timeout, ca, insecureSkipVerify });
  }

  async state(signal: AbortSignal): Promise<SwitchState> {
    const { state, reset, uuid } = (this.#lastRead = await this.#read(signal));
    // A service may list only what is possible in the current state.
    const isOffered = state !== "on" || offering(reset.allowed, ...resetTypes.shutdown, ...resetTypes.forceOff);
    this.facts = {
      systemUuid: uuid,
      keepsPower: isOffered ? undefined : "the service offers no reset type that switches off",
    };
    return state;
  }

  async on(signal: AbortSignal, confirm: ConfirmSwitching): Promise<void> {
    await this.#reset("on", signal, confirm);
  }

  async shutdown(signal: AbortSignal, confirm: ConfirmSwitching): Promise<void> {
    await this.#reset("shutdown", signal, confirm);
  }

  async forceOff(signal: AbortSignal, confirm: ConfirmSwitching): Promise<void> {
    await this.#reset("forceOff", signal, confirm);
  }

  /** A service has few sessions and keeps each for half an hour, so this one is deleted. */
  async close(): Promise<void> {
    const { token, location } = this.#session ?? {};
    if (token !== undefined && location !== undefined) {
      const headers = { "x-auth-token": token };
      await this.#http
        .call(this.#url(location), { method: "DELETE", headers, signal: new AbortController().signal })
        .catch(() => undefined);
    }
    await this.#http.close();
  }

  async #reset(action: Action, signal: AbortSignal, confirm: ConfirmSwitching): Promise<void> {
    const { state, reset, etag } = this.#lastRead ?? (await this.#read(signal));
    this.#lastRead = undefined;
    const goal: SwitchState = action === "on" ? "on" : "off";
    if (state === goal) return;
    const wanted: readonly string[] = resetTypes[action];
    const { target, allowed } = reset;
    const type = wanted.find((one) => offering(allowed, one));
    if (type === undefined)
      throw new PowerSwitchError("refused", `the service offers none of the reset types ${wanted.join(", ")}`);
    const send = async (headers: Readonly<Record<string, string>>) =>
      this.#call(target, { method: "POST", body: { ResetType: type }, headers, signal, confirm });
    let answer = await send({});
    for (const variant of etagVariants) {
      if ((answer.status !== 412 && answer.status !== 428) || etag === undefined) break;
      answer = await send({ "if-match": variant(etag) });
    }
    if (WRONG_STATE.has(answer.status) && (await this.#read(signal)).state === goal) return;
    expectSuccess(answer, `${type} on ${target}`);
  }

  async #read(signal: AbortSignal): Promise<System> {
    const path = (this.#system ??= await this.#findSystem(signal));
    const answer = await this.#call(path, { signal });
    const body = fieldsOf(answer, path);
    const action = record(record(body["Actions"])["#ComputerSystem.Reset"]);
    const target = pathIn(action["target"]) ?? `${path.replace(/\/$/, "")}/Actions/ComputerSystem.Reset`;
    const allowed =
      textsIn(action["ResetType@Redfish.AllowableValues"]) ??
      (await this.#allowedBy(action["@Redfish.ActionInfo"], signal));
    const { PowerState: text } = body;
    return {
      state:
        typeof text === "string" && Object.hasOwn(powerStates, text) ? (powerStates[text] as SwitchState) : "unknown",
      reset: { target, allowed },
      etag: answer.headers["etag"] ?? textIn(body["@odata.etag"]),
      uuid: uuidIn(textIn(body["UUID"])),
    };
  }

  async #allowedBy(link: unknown, signal: AbortSignal): Promise<readonly string[] | undefined> {
    const path = pathIn(link);
    if (path === undefined) return undefined;
    const { Parameters: parameters } = fieldsOf(await this.#call(path, { signal }), path);
    const reset = (Array.isArray(parameters) ? parameters : []).map(record).find(({ Name }) => Name === "ResetType");
    return textsIn(reset?.["AllowableValues"]);
  }

  async #findSystem(signal: AbortSignal): Promise<string> {
    const { systemId } = this.#options.endpoint;
    const { systems } = await this.#root(signal);
    if (systemId !== undefined) {
      // Nearly always this is its address. A service with thousands of systems then need not list them.
      const direct = `${systems.replace(/\/$/, "")}/${encodeURIComponent(systemId)}`;
      if ((await this.#call(direct, { signal })).status === 200) return direct;
    }
    const { Members: members } = fieldsOf(await this.#call(systems, { signal }), systems);
    const paths = (Array.isArray(members) ? members : [])
      .slice(0, MAX_SYSTEMS)
      .flatMap((member) => pathIn(record(member)["@odata.id"]) ?? []);
    if (systemId !== undefined) {
      const found = paths.find((path) => path.replace(/\/$/, "").endsWith(`/${encodeURIComponent(systemId)}`));
      if (found === undefined)
        throw new PowerSwitchError("not_found", `the service has no system ${JSON.stringify(systemId)}`);
      return found;
    }
    const [only, another] = paths;
    if (only === undefined) throw new PowerSwitchError("not_found", "the service has no system");
    if (another !== undefined)
      throw new PowerSwitchError("refused", `the service has ${paths.length} systems; set redfish.systemId`);
    return only;
  }

  /** The root needs no password on any service, so the vendor is known before it is sent. */
  async #root(signal: AbortSignal): Promise<Service> {
    if (this.#service !== undefined) return this.#service;
    const body = fieldsOf(await this.#http.call(this.#url(ROOT), { signal }), ROOT);
    const names = [body["Vendor"], body["Product"], ...Object.keys(record(body["Oem"]))].filter(
      (name) => typeof name === "string",
    );
    this.#service = {
      systems: pathIn(record(body["Systems"])["@odata.id"]) ?? `${ROOT}Systems`,
      sessions: pathIn(record(record(body["Links"])["Sessions"])["@odata.id"]),
      needsSession: names.some((name) => NEEDS_SESSION.test(name)),
    };
    return this.#service;
  }

  async #call(
    path: string,
    call: Omit<SwitchRequest, "method"> & { readonly method?: "GET" | "POST" },
  ): Promise<SwitchAnswer> {
    const { signal } = call;
    const { needsSession, sessions } = await this.#root(signal);
    if (needsSession) await this.#logIn(signal);
    const send = async () =>
      this.#http.call(this.#url(path), { ...call, headers: { ...this.#authorization(), ...call.headers } });
    const answer = await send();
    // A service may have disabled basic authentication; a new session also replaces one that has expired.
    if (answer.status !== 401 || sessions === undefined || this.#options.credentials === undefined) return answer;
    this.#session = undefined;
    await this.#logIn(signal);
    return send();
  }

  #authorization(): Readonly<Record<string, string>> {
    if (this.#session !== undefined) return { "x-auth-token": this.#session.token };
    const { credentials } = this.#options;
    if (credentials === undefined) return {};
    const pair = `${credentials.username}:${credentials.password}`;
    return { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
  }

  async #logIn(signal: AbortSignal): Promise<void> {
    const { credentials } = this.#options;
    const { sessions } = await this.#root(signal);
    const hasNone = credentials === undefined || sessions === undefined || this.#withoutSession;
    if (this.#session !== undefined || hasNone) return;
    const body = { UserName: credentials.username, Password: credentials.password };
    const answer = await this.#http.call(this.#url(sessions), { method: "POST", body, signal });
    if (NO_SESSION.has(answer.status)) {
      this.#withoutSession = true;
      return;
    }
    expectSuccess(answer, `a session at ${sessions}`);
    const { "x-auth-token": token, location } = answer.headers;
    if (token === undefined) throw new PowerSwitchError("garbled", "the service gave a session without a token");
    this.#session = { token, location: pathIn(location) ?? pathIn(record(answer.json)["@odata.id"]) };
  }

  #url(path: string): URL {
    return new URL(path, this.#base.origin);
  }
}

/** Whether a service offers one of these reset types. One that lists none may offer all. */
const offering = (allowed: readonly string[] | undefined, ...types: readonly string[]): boolean =>
  allowed === undefined || types.some((type) => allowed.includes(type));

function expectSuccess({ status }: SwitchAnswer, what: string): void {
  if (status >= 200 && status < 300) return;
  if (status === 401 || status === 403)
    throw new PowerSwitchError(
      "credentials",
      `${what}: the service rejects the credentials (status ${status})`,
      status,
    );
  if (status === 404) throw new PowerSwitchError("not_found", `${what}: status 404`, status);
  throw new PowerSwitchError("status", `${what}: status ${status}`, status);
}

function fieldsOf(answer: SwitchAnswer, path: string): Fields {
  expectSuccess(answer, path);
  if (typeof answer.json !== "object" || answer.json === null || Array.isArray(answer.json))
    throw new PowerSwitchError("garbled", `${path}: the response is not a JSON object`, answer.status);
  return answer.json as Fields;
}

const record = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};

/** A path of this service; undefined for anything else. A link to another origin would receive the password. */
function pathIn(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > 2048) return undefined;
  return /^\/(?![/\\])[!-~]*$/.test(value) && !value.includes("\\") ? value : undefined;
}

const textIn = (value: unknown): string | undefined =>
  typeof value === "string" && value.length <= 256 ? value : undefined;

const textsIn = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) ? value.filter((item) => typeof item === "string") : undefined;
