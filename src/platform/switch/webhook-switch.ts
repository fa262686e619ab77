import type { SwitchState, WebhookEndpoint } from "../../core/api/index.ts";
import { sendsInTheClear } from "../http/index.ts";
import { type ConfirmSwitching, type PowerSwitch, PowerSwitchError } from "./power-switch.ts";
import { type SwitchAnswer, SwitchHttp, type SwitchHttpOptions } from "./switch-http.ts";

export interface WebhookSwitchOptions extends Pick<SwitchHttpOptions, "clock" | "timeout"> {
  readonly endpoint: WebhookEndpoint;
  readonly node: string;
  /** Sent as a bearer token. */
  readonly token?: string | undefined;
}

export function webhookUrl(endpoint: WebhookEndpoint, node: string): URL {
  const url = URL.parse(endpoint.url.replaceAll("{node}", encodeURIComponent(node)));
  if (url === null) throw new PowerSwitchError("refused", "webhook.url is not a URL");
  return url;
}

/** The actions that a webhook receives, as `{"node": …, "action": …}`. */
const webhookActions = ["on", "shutdown", "forceOff"] as const;

/** A service of the user. GET returns `{"state": "on" | "off"}`. */
export class WebhookSwitch implements PowerSwitch {
  readonly #options: WebhookSwitchOptions;
  readonly #http: SwitchHttp;
  readonly #url: URL;
  /** What the last call of `state` has read, for the next action. */
  #lastState: SwitchState | undefined;

  constructor(options: WebhookSwitchOptions) {
    const { endpoint, node, token } = options;
    this.#options = options;
    const url = webhookUrl(endpoint, node);
    if (token !== undefined && sendsInTheClear(url))
      throw new PowerSwitchError(
        "refused",
        "webhook.url is http://, which would send the token unencrypted; use https://",
      );
    this.#url = url;
    this.#http = new SwitchHttp(options);
  }

  async state(signal: AbortSignal): Promise<SwitchState> {
    const { json } = await this.#call("GET", undefined, signal);
    const state = typeof json === "object" && json !== null && "state" in json ? json.state : undefined;
    return (this.#lastState = state === "on" || state === "off" ? state : "unknown");
  }

  async on(signal: AbortSignal, confirm: ConfirmSwitching): Promise<void> {
    await this.#act("on", signal, confirm);
  }

  async shutdown(signal: AbortSignal, confirm: ConfirmSwitching): Promise<void> {
    await this.#act("shutdown", signal, confirm);
  }

  async forceOff(signal: AbortSignal, confirm: ConfirmSwitching): Promise<void> {
    await this.#act("forceOff", signal, confirm);
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  async #act(action: (typeof webhookActions)[number], signal: AbortSignal, confirm: ConfirmSwitching): Promise<void> {
    const state = this.#lastState ?? (await this.state(signal));
    this.#lastState = undefined;
    if (state === (action === "on" ? "on" : "off")) return;
    await this.#call("POST", { node: this.#options.node, action }, signal, confirm);
  }

  async #call(
    method: "GET" | "POST",
    body: unknown,
    signal: AbortSignal,
    confirm?: ConfirmSwitching,
  ): Promise<SwitchAnswer> {
    const { token } = this.#options;
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const answer = await this.#http.call(this.#url, { method, body, headers, signal, ...(confirm && { confirm }) });
    const { status } = answer;
    if (status >= 200 && status < 300) return answer;
    if (status === 401 || status === 403)
      throw new PowerSwitchError("credentials", `the webhook rejects the token (status ${status})`, status);
    if (status === 404)
      throw new PowerSwitchError("not_found", "the webhook does not know the node (status 404)", status);
    throw new PowerSwitchError("status", `the webhook answered with status ${status}`, status);
  }
}
