import { describe, expect, it } from "vitest";
import type { Node, PowerEndpoint, PowerEndpointSpec } from "../../../core/api/index.ts";
import { planImport, secretsOf } from "./import-plan.ts";

const redfish = (nodeName: string, address = "https://10.9.0.1", secret?: string): PowerEndpointSpec => ({
  nodeName,
  redfish: { address, ...(secret !== undefined && { credentialsSecretRef: { name: secret } }) },
});
const listed = (...specs: PowerEndpointSpec[]) => specs.map((spec, index) => ({ spec, source: `line ${index + 2}` }));
const nodes = new Map<string, Node>([
  ["n1", { metadata: { name: "n1" } }],
  ["n2", { metadata: { name: "n2", labels: { "joulie.io/managed": "true", "joulie.io/may-sleep": "true" } } }],
  ["cp", { metadata: { name: "cp", labels: { "node-role.kubernetes.io/etcd": "true" } } }],
]);
const endpoints = new Map<string, PowerEndpoint>([
  ["n2", { metadata: { name: "n2" }, spec: redfish("n2"), status: { wakeProven: true } }],
]);
const plan = (specs: readonly PowerEndpointSpec[], labelNodes = true) =>
  planImport(listed(...specs), { nodes, endpoints }, labelNodes);

describe("planImport", () => {
  it("SLP-81 creates what is missing, with the labels that sleep needs", () => {
    expect(plan([redfish("n1")])).toMatchObject([
      { node: "n1", action: "create", labels: { "joulie.io/managed": "true", "joulie.io/may-sleep": "true" } },
    ]);
    expect(plan([redfish("n1")], false)).toMatchObject([{ action: "create", labels: {} }]);
  });

  it("SLP-81 leaves what is as listed, and says what a change ends", () => {
    expect(plan([redfish("n2")])).toMatchObject([{ action: "same", labels: {} }]);
    expect(plan([redfish("n2", "https://10.9.0.2")])).toMatchObject([
      { action: "change", why: "its wake has to be proven again" },
    ]);
  });

  it.each([
    [redfish("n9"), "line 2: the cluster has no node of this name"],
    [redfish("cp"), "a control-plane node is never switched off"],
    [redfish("n1", "https://"), "line 2: spec.redfish.address: expected an http"],
  ])("SLP-81 rejects %j", (spec, why) => {
    expect(plan([spec])).toMatchObject([{ action: "reject", why: expect.stringContaining(why) as string, labels: {} }]);
  });

  it("SLP-81 rejects the second of two machines of one node", () => {
    expect(plan([redfish("n1"), redfish("n1", "https://10.9.0.2")])).toMatchObject([
      { action: "create" },
      { action: "reject", why: "line 3 names it again; first in line 2" },
    ]);
  });

  it("SLP-81 collects the machines that each Secret is for", () => {
    const steps = plan([
      redfish("n1", "https://a", "bmc"),
      redfish("n2", "https://b", "bmc"),
      redfish("cp", "https://c", "bmc"),
    ]);
    expect(secretsOf(steps)).toEqual(
      new Map([
        [
          "bmc",
          [
            { node: "n1", address: "https://a" },
            { node: "n2", address: "https://b" },
          ],
        ],
      ]),
    );
  });
});
