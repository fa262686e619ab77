import { describe, expect, it } from "vitest";
import type { NodeTwinStatus, Pod } from "../api/index.ts";
import { demandOf } from "../demand/index.ts";
import { hardwareView } from "../inventory/index.ts";
import { batchOf, defaultEnergySettings, defaultScoringSettings, scoreNode, twinStateOf } from "../scoring/index.ts";
import type { Watts } from "../units/index.ts";
import { type ExplainSettings, explainPlacement } from "./explain.ts";
import { summaryInWords, verdictInWords } from "./explain-words.ts";
import { clusterOf, nodeObject, podObject, REPORT_TIME, twinObject } from "./testing/objects.ts";

const settings: ExplainSettings = { scoring: defaultScoringSettings, extenderWeight: 1, kubeProfile: "default" };
const eco: NodeTwinStatus = { schedulableClass: "eco" };
const busy = (drawn: number): NodeTwinStatus => ({
  powerMeasurement: { source: "agent", measuredNodePowerW: drawn as Watts, nodeCappedPowerW: 400 as Watts },
});
const explain = (pod: Pod, objects: Parameters<typeof explainPlacement>[1], more: Partial<ExplainSettings> = {}) =>
  explainPlacement(pod, objects, { ...settings, ...more });
const wordsAbout = (found: ReturnType<typeof explain>, node: string) => {
  const verdict = found.nodes.find((one) => one.node === node);
  return verdict === undefined ? "" : verdictInWords(verdict).join(" ");
};

describe("why a pod is where it is", () => {
  it("CLI-03 scores with the extender's formula and ranks the node with most points first", () => {
    const nodes = ["hot", "calm"].map((name) => nodeObject(name));
    const twins = [twinObject("hot", busy(380)), twinObject("calm", busy(100))];
    const pod = podObject("p", { node: "calm" });
    const found = explain(pod, clusterOf(nodes, twins, { pods: [pod] }));
    const states = twins.map(({ status }) => twinStateOf(status ?? {}));
    const batch = batchOf(states, REPORT_TIME, defaultScoringSettings);
    const expected = nodes.map(
      (node, at) =>
        scoreNode(
          { workloadClass: "standard", demand: demandOf(pod) },
          { twin: states[at], hardware: hardwareView(node, undefined), labels: node.metadata.labels },
          batch,
          defaultScoringSettings,
        ).score,
    );
    expect(found.nodes.map(({ node, score }) => [node, score])).toEqual([
      ["calm", expected[1]],
      ["hot", expected[0]],
    ]);
    expect(summaryInWords(found)).toEqual([
      "calm ranks first of 2 nodes that take the pod: the pod leaves the most room in the power budget.",
    ]);
    expect(wordsAbout(found, "calm")).toMatch(/^Score \d+: \+\d.*% of the power budget left, \+12 for cooling/);
  });

  it("CLI-03 does not count the pod itself as load of the node it runs on", () => {
    const pod = podObject("p", { node: "a", cpu: "64" });
    const found = explain(pod, clusterOf([nodeObject("a")], [twinObject("a")], { pods: [pod] }));
    expect(found.nodes[0]).toMatchObject({ feasible: true, blockers: [] });
  });

  it("CLI-03 says in words why each node rejects a pending performance pod", () => {
    const nodes = [
      nodeObject("eco"),
      nodeObject("off"),
      nodeObject("full"),
      nodeObject("cordoned", { spec: { unschedulable: true } }),
      nodeObject("tainted", { spec: { taints: [{ key: "team", value: "x", effect: "NoSchedule" }] } }),
    ];
    const twins = [
      twinObject("eco", eco),
      twinObject("off", { power: { state: "off" } }),
      twinObject("full"),
      twinObject("cordoned"),
      twinObject("tainted"),
    ];
    const pods = [podObject("other", { node: "full", cpu: "63.5" })];
    const pod = podObject("p", { workloadClass: "performance" });
    const found = explain(pod, clusterOf(nodes, twins, { pods: [...pods, pod] }));
    expect(found.nodes.every(({ feasible }) => !feasible)).toBe(true);
    expect(wordsAbout(found, "eco")).toMatch(/^The node is capped to save energy \(class eco\)/);
    expect(wordsAbout(found, "off")).toMatch(/^The node is asleep/);
    expect(wordsAbout(found, "full")).toBe("kube-scheduler: the pod requests 1 CPU, 0.5 CPUs are free.");
    expect(wordsAbout(found, "cordoned")).toBe("kube-scheduler: the node is cordoned.");
    expect(wordsAbout(found, "tainted")).toBe("kube-scheduler: the pod does not tolerate the taint team=x:NoSchedule.");
    expect(summaryInWords(found).join(" ")).toContain("none of 5 nodes takes it");
    expect(summaryInWords(found).join(" ")).toContain("Joulie alone keeps it off 2");
  });

  it("X-151 names the pod that a node is kept free for", () => {
    const awaitedBy = {
      pod: "jobs/large",
      uid: "uid-large",
      since: new Date(REPORT_TIME).toISOString(),
      until: new Date(REPORT_TIME + 60_000).toISOString(),
    };
    const pod = podObject("p", { cpu: "1" });
    const found = explain(pod, clusterOf([nodeObject("a")], [twinObject("a", { awaitedBy })], { pods: [pod] }));
    expect(wordsAbout(found, "a")).toContain("kept free for a performance pod that waits for room: jobs/large, until");
    expect(summaryInWords(found).join(" ")).toContain("kept free for another pod");
  });

  it("names a missing label, an affinity and the limit of pods", () => {
    const nodes = [
      nodeObject("a", { labels: { disk: "hdd" }, status: { allocatable: { cpu: "4", memory: "8Gi", pods: "1" } } }),
    ];
    const required = { nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["z"] }] }] };
    const pod = podObject("p", {
      spec: {
        nodeSelector: { disk: "ssd", gpu: "yes" },
        affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } },
      },
    });
    const found = explain(pod, clusterOf(nodes, [], { pods: [podObject("x", { node: "a" })] }));
    expect(found.nodes[0]?.blockers).toEqual([
      "the pod selects disk=ssd, the node has the value hdd",
      "the pod selects gpu=yes, the node has no such label",
      "the pod's required node affinity does not match the node's labels",
      "the node runs 1 pods, the most it takes",
    ]);
  });

  it("kube-scheduler's own points decide among equal scores, and can outweigh a small difference", () => {
    const nodes = ["a", "b"].map((name) => nodeObject(name));
    const twins = [twinObject("a"), twinObject("b")];
    const others = [podObject("x", { node: "a", cpu: "32" })];
    const pod = podObject("p", { node: "b" });
    const equal = explain(pod, clusterOf(nodes, twins, { pods: [...others, pod] }));
    expect(equal.nodes.map(({ node }) => node)).toEqual(["b", "a"]);
    expect(summaryInWords(equal)[0]).toMatch(/kube-scheduler's own points decide among nodes with the same score/);
    const packed = explain(pod, clusterOf(nodes, twins, { pods: [...others, pod] }), { kubeProfile: "energy" });
    expect(packed.nodes.map(({ node }) => node)).toEqual(["a", "b"]);
  });

  it("says that equal nodes are drawn, and that ranks may have changed since", () => {
    const nodes = ["a", "b"].map((name) => nodeObject(name));
    const pod = podObject("p", { node: "b" });
    const twins = [twinObject("a"), twinObject("b")];
    expect(summaryInWords(explain(pod, clusterOf(nodes, twins, { pods: [pod] })))[0]).toMatch(/with 1 equal node\./);
    const changed = [twinObject("a"), twinObject("b", busy(399))];
    expect(summaryInWords(explain(pod, clusterOf(nodes, changed, { pods: [pod] })))[0]).toMatch(
      /^b ranks 2nd of 2 nodes now/,
    );
  });

  it.each([
    [1, "2nd"],
    [2, "3rd"],
    [3, "4th"],
    [10, "11th"],
    [11, "12th"],
    [12, "13th"],
    [20, "21st"],
    [22, "23rd"],
  ])("X-145 with %d better nodes the pod's node ranks %s", (better, rank) => {
    const names = Array.from({ length: better }, (_, index) => `n${index}`);
    const twins = [...names.map((name) => twinObject(name)), twinObject("last", busy(399))];
    const pod = podObject("p", { node: "last" });
    const nodes = [...names, "last"].map((name) => nodeObject(name));
    const [first] = summaryInWords(explain(pod, clusterOf(nodes, twins, { pods: [pod] })));
    expect(first).toContain(`last ranks ${rank} of ${better + 1} nodes now`);
  });

  it.each([
    ["64", "the pod requests 1 CPU, 0 CPUs are free"],
    ["63.5", "the pod requests 1 CPU, 0.5 CPUs are free"],
  ])("X-145 on a node where pods request %s of 64 CPUs it says: %s", (cpu, words) => {
    const pods = [podObject("other", { node: "full", cpu }), podObject("p")];
    const found = explain(pods[1] as never, clusterOf([nodeObject("full")], [twinObject("full")], { pods }));
    expect(wordsAbout(found, "full")).toBe(`kube-scheduler: ${words}.`);
  });

  it("CLI-03 explains joules with SCORING=energy, and falls back where the hardware is unknown", () => {
    const known = { "joulie.io/hw.cpu-model": "EPYC 9654", "joulie.io/hw.cpu-sockets": "2" };
    const nodes = [nodeObject("known", { labels: known }), nodeObject("unknown")];
    const pod = podObject("p");
    const found = explain(pod, clusterOf(nodes, [twinObject("known"), twinObject("unknown")]), {
      energy: defaultEnergySettings,
    });
    expect(found.formula).toBe("energy");
    expect(wordsAbout(found, "known")).toMatch(/^Score 100: the pod adds .*J in 30 min \(.* running it/);
    expect(wordsAbout(found, "unknown")).toContain("scored by headroom, because the power of its hardware is unknown");
  });

  it("a node without a twin has the neutral score, with the reason", () => {
    const found = explain(podObject("p"), clusterOf([nodeObject("a")], []));
    expect(wordsAbout(found, "a")).toBe("Score 50, the neutral score: the operator has published no twin.");
  });
});
