import { describe, expect, it } from "vitest";
import type { PowerEndpoint } from "../../../core/api/index.ts";
import { type Instant, instant, milliseconds } from "../../../core/units/index.ts";
import type { NodeApi } from "../api/node-api.ts";
import type { NodeCase } from "../steps/node-case.ts";
import type { NodeView, ObservedNode } from "../watch/cluster-view.ts";
import { mayLosePower } from "./power-loss-guard.ts";

const now: Instant = instant(Date.UTC(2030, 0, 1));
const node = { name: "a", uid: "u1", resourceVersion: "7", tainted: true, maySleep: true } as ObservedNode;
const endpoint = {
  metadata: { name: "a", generation: 1 },
  spec: { nodeName: "a", webhook: { url: "https://switch.example" } },
  status: { wakeProven: true, provenGeneration: 1 },
} satisfies PowerEndpoint;
const wanted = { state: "off", reason: "it is empty" } as NodeCase["wanted"];
const nodeCase: NodeCase = {
  name: "a",
  node,
  endpoint,
  wanted,
  now,
  sinceStep: milliseconds(0),
  signal: new AbortController().signal,
  twin: undefined,
};
const fresh: NodeView = {
  name: "a",
  node,
  endpoint,
  twin: { spec: { power: { state: "off", reason: "it is empty" } } } as NodeView["twin"],
};

interface Facts {
  readonly watched?: Partial<ObservedNode>;
  readonly fresh?: Partial<NodeView>;
  readonly stop?: string;
  readonly promised?: readonly string[];
  readonly lost?: readonly string[];
  readonly controlPlane?: string;
  readonly leads?: boolean;
}

/** Asks the guard in a cluster in which the node may lose its power, except for these facts. */
const ask = async (facts: Facts): Promise<void> => {
  const api: Pick<NodeApi, "freshView" | "stopReason" | "podsOn" | "podsPromisedTo"> = {
    freshView: async () => ({ ...fresh, ...facts.fresh }),
    stopReason: async () => facts.stop,
    podsOn: async () => ({ lost: facts.lost ?? [], controlPlane: facts.controlPlane }),
    podsPromisedTo: async () => facts.promised ?? [],
  };
  const options = { api: api as NodeApi, stopped: () => undefined, leads: () => facts.leads ?? true };
  return mayLosePower({ ...nodeCase, node: { ...node, ...facts.watched } }, options);
};

describe("the last check before a machine loses power", () => {
  it("X-130 permits an empty node that has its taint and is wanted off", async () => {
    await expect(ask({})).resolves.toBeUndefined();
  });

  it.each<[string, Facts, string]>([
    ["the watch has not shown the taint", { watched: { tainted: false } }, "taint has not been observed"],
    ["the taint was removed", { fresh: { node: { ...node, tainted: false } } }, "removed the taint"],
    ["the Node was deleted", { fresh: { node: undefined } }, "deleted or replaced"],
    ["another Node has its name and the taint", { fresh: { node: { ...node, uid: "u2" } } }, "deleted or replaced"],
    [
      "the PowerEndpoint names another switch",
      { fresh: { endpoint: { ...endpoint, spec: { nodeName: "a", webhook: { url: "https://other.example" } } } } },
      "PowerEndpoint was changed",
    ],
    ["the operator wants it on", { fresh: { twin: { spec: {} } as NodeView["twin"] } }, "the operator wants it"],
    [
      "a user keeps it awake",
      {
        fresh: { endpoint: { ...endpoint, metadata: { name: "a", annotations: { "joulie.io/keep-awake": "true" } } } },
      },
      "joulie.io/keep-awake",
    ],
    ["everything is stopped", { stop: "stopped by a user" }, "stopped by a user"],
    ["a pod is on it", { lost: ["default/db"] }, "default/db"],
    ["a pod is promised to it", { promised: ["default/db"] }, "about to be bound"],
    ["it runs the control plane", { controlPlane: "kube-system/etcd-a" }, "kube-system/etcd-a"],
    ["another replica leads", { leads: false }, "does not lead any more"],
  ])("X-130 forbids it if %s", async (_, facts, message) => {
    await expect(ask(facts)).rejects.toThrow(message);
  });
});
