// An embedded API on a virtual clock, for tests.
import { crdOf, kinds } from "../../../core/api/index.ts";
import { instant } from "../../../core/units/index.ts";
import { VirtualClock } from "../../clock/testing/index.ts";
import type { ApiRequest } from "../../kube/index.ts";
import { seededRandom } from "../../random/index.ts";
import type { EmbeddedOptions } from "../embedded-api.ts";
import { FaultyApi } from "./faulty-api.ts";

export const crdPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
export const twinsPath = "/apis/joulie.io/v1alpha1/nodetwins";
export const podsPath = "/api/v1/namespaces/default/pods";
export const twin = (name: string) => ({ metadata: { name }, spec: { nodeName: name, profile: "eco" } });
export const minimalPod = (name: string, spec: object = {}) => ({
  metadata: { name },
  spec: { containers: [{ name: "c", image: "i" }], ...spec },
});

/** An embedded API on a virtual clock, with helpers to send requests and watch. */
export function apiHarness(options: Partial<EmbeddedOptions> = {}) {
  const clock = new VirtualClock(instant(Date.UTC(2030, 0, 1)));
  const api = new FaultyApi({ clock, random: seededRandom(1), crds: kinds.map(crdOf), ...options });
  const transport = api.transport();
  const send = async (
    method: ApiRequest["method"],
    path: string,
    body?: object | string,
    headers: Record<string, string> = {},
  ) => {
    const { signal } = new AbortController();
    const answer = await transport.request({
      method,
      path,
      headers,
      signal,
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    let text = "";
    for await (const chunk of answer.body) text += Buffer.from(chunk).toString();
    return { status: answer.status, body: JSON.parse(text) as Answered };
  };
  /** Opens a watch and reads it in the background. */
  const watch = async (path: string) => {
    const abort = new AbortController();
    const { body } = await transport.request({ method: "GET", path, signal: abort.signal, longLived: true });
    const events: { type: string; object: Answered }[] = [];
    const state = { ended: false };
    const read = async () => {
      for await (const chunk of body) {
        for (const line of Buffer.from(chunk).toString().split("\n").filter(Boolean))
          events.push(JSON.parse(line) as (typeof events)[number]);
      }
      state.ended = true;
    };
    const done = read().catch(() => undefined);
    return { events, state, done, stop: () => abort.abort() };
  };
  return { clock, api, send, watch };
}

interface Answered {
  readonly kind: string;
  readonly reason?: string;
  readonly metadata: { readonly [field: string]: unknown; readonly resourceVersion: string };
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
  readonly [field: string]: unknown;
}
