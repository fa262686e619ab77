import { describe, expect, it } from "vitest";
import type { NodeTwin, NodeTwinStatus } from "../api/index.ts";
import { isoTime, milliseconds, type Watts } from "../units/index.ts";
import {
  type ClusterObjects,
  type ClusterObjectsWithPods,
  defaultReportSettings,
  type Installation,
} from "./cluster-objects.ts";
import { findProblems } from "./problems.ts";
import { clusterOf, installation, nodeObject, podObject, REPORT_TIME, twinObject } from "./testing/objects.ts";

const problemsIn = (objects: ClusterObjects) => findProblems(objects, defaultReportSettings);
const idsIn = (objects: ClusterObjects) => problemsIn(objects).map(({ id }) => id);
const minutesAgo = (minutes: number) => new Date(REPORT_TIME - minutes * 60_000).toISOString();

/** The problems of one node with this status. */
const idsOf = (
  status: NodeTwinStatus,
  spec: Partial<NodeTwin["spec"]> = {},
  more: Partial<ClusterObjectsWithPods> = {},
) => idsIn(clusterOf([nodeObject("a")], [twinObject("a", status, spec)], more));

const agents: Installation["programs"][number] = {
  program: "agent",
  kind: "DaemonSet",
  name: "joulie-agent",
  desired: 1,
  ready: 1,
  version: undefined,
  observeOnly: true,
};

describe("problems of nodes", () => {
  it("CLI-01 a healthy cluster has none", () => {
    expect(idsIn(clusterOf([nodeObject("a")], [twinObject("a")], { installation: installation() }))).toEqual([]);
  });

  it.each<[string, NodeTwinStatus]>([
    ["twin-stale", { lastUpdated: minutesAgo(6) }],
    ["agent-silent", { controlStatus: { cpu: { result: "applied", updatedAt: minutesAgo(9) } } }],
    ["agent-silent", { controlStatus: {} }],
    [
      "control-error",
      { controlStatus: { cpu: { result: "error", message: "cap does not hold", updatedAt: isoTime(REPORT_TIME) } } },
    ],
    ["control-blocked", { controlStatus: { gpu: { result: "blocked", updatedAt: isoTime(REPORT_TIME) } } }],
    ["wake-failed", { power: { state: "failed" } }],
    ["psu-stress", { predictedPsuStressScore: 92 as never }],
    ["psu-overload", { predictedPsuStressScore: 100 as never }],
    ["cooling-stress", { coolingStressNow: 95 as never }],
    ["drains-long", { schedulableClass: "draining", lastTransitionTime: minutesAgo(61) }],
    [
      "over-budget",
      { powerMeasurement: { source: "agent", measuredNodePowerW: 430 as Watts, nodeCappedPowerW: 400 as Watts } },
    ],
    ["power-estimated", { powerMeasurement: { source: "static", measuredNodePowerW: 100 as Watts } }],
  ])("CLI-01 reports %s", (id, status) => {
    expect(idsOf(status)).toEqual([id]);
  });

  it("X-156 says that only the power of the GPUs is estimated, and that a silent agent's node is measured elsewhere", () => {
    const measured = { source: "kepler", measuredNodePowerW: 300 as Watts, nodeCappedPowerW: 400 as Watts } as const;
    const partial = clusterOf(
      [nodeObject("a")],
      [twinObject("a", { powerMeasurement: { ...measured, estimatedGpuPowerW: 100 as Watts } })],
    );
    expect(problemsIn(partial)[0]?.what).toBe("The power of the GPUs is estimated: kepler does not read it.");
    const silent = (source: "kepler" | "static") =>
      problemsIn(
        clusterOf(
          [nodeObject("a")],
          [twinObject("a", { controlStatus: {}, powerMeasurement: { ...measured, source } })],
        ),
      ).find(({ id }) => id === "agent-silent")?.meaning;
    expect(silent("kepler")).toBe("The caps cannot be verified.");
    expect(silent("static")).toBe("The caps cannot be verified, and the power is estimated.");
  });

  it("X-143 warns by the stress of the power drawn now, not by the forecast at the cap", () => {
    const forecast = { predictedCoolingStressScore: 100 as never, coolingStressNow: 5 as never };
    expect(idsOf(forecast)).toEqual([]);
    const hot = clusterOf([nodeObject("a")], [twinObject("a", { ...forecast, coolingStressNow: 95 as never })]);
    expect(problemsIn(hot)[0]?.what).toBe("It draws 200 W, which takes 95 % of its cooling.");
  });

  it("X-143 a sleeping node has no cooling stress", () => {
    expect(idsOf({ coolingStressNow: 95 as never, power: { state: "off" }, controlStatus: {} })).toEqual([]);
  });

  it("reports a node without a twin, but not of a node that was replaced under its name", () => {
    expect(idsIn(clusterOf([nodeObject("a")], []))).toEqual(["agent-silent", "twin-missing"]);
    const old = twinObject("a");
    const owner = { apiVersion: "v1", kind: "Node", name: "a", uid: "former" };
    const replaced = { ...old, metadata: { ...old.metadata, ownerReferences: [owner] } };
    expect(idsIn(clusterOf([nodeObject("a")], [replaced]))).toContain("twin-missing");
  });

  it("CLI-01 says nothing about twins and agents if the twins cannot be listed", () => {
    const notListed = ["twins"] as const;
    expect(idsIn(clusterOf([nodeObject("a")], [], { notListed }))).toEqual([]);
    expect(idsIn(clusterOf([nodeObject("a")], [], { notListed: ["hardware"] }))).toContain("twin-missing");
  });

  it("says nothing about stale data while Joulie is stopped on purpose", () => {
    const stopped = installation({ stopped: true });
    expect(idsOf({ lastUpdated: minutesAgo(60), controlStatus: {} }, {}, { installation: stopped })).toEqual([
      "stopped",
    ]);
  });

  it("CLI-01 says first that Joulie is stopped or only observes, whatever else is wrong", () => {
    const broken: NodeTwinStatus = { controlStatus: { cpu: { result: "error", updatedAt: isoTime(REPORT_TIME) } } };
    const observing = installation({ programs: [agents] });
    expect(idsOf(broken, {}, { installation: observing })).toEqual(["observe-only", "control-error"]);
    const stopped = installation({ programs: [agents], stopped: true });
    expect(idsOf(broken, {}, { installation: stopped })).toEqual(["stopped", "control-error"]);
  });

  it("X-181 says what an observing installation would do next, and takes no target for a cap that does not hold", () => {
    const observing = installation({ programs: [{ ...agents, observeOnly: true }] });
    const drawing = (watts: number): NodeTwinStatus => ({
      powerMeasurement: {
        source: "agent",
        measuredNodePowerW: 450 as Watts,
        nodeCappedPowerW: watts as Watts,
        nodeTdpW: 500 as Watts,
      },
    });
    const found = (...twins: NodeTwin[]) =>
      problemsIn(clusterOf([nodeObject("a"), nodeObject("b")], twins, { installation: observing }));
    const outlookOf = (...twins: NodeTwin[]) => found(...twins).find(({ id }) => id === "observe-only")?.meaning;
    const two = [twinObject("a", drawing(300)), twinObject("b", drawing(500))];
    expect(outlookOf(...two)).toBe("Enforcing would cap 1 of 2 nodes now: all could draw 800 W instead of 1000 W.");
    expect(found(...two).map(({ id }) => id)).toEqual(["observe-only"]);
    const uncapped = [twinObject("a", drawing(500)), twinObject("b", drawing(500))];
    expect(outlookOf(...uncapped)).toBe("Enforcing would cap none of 2 nodes now.");
    expect(outlookOf()).toBe("The operator has not planned the managed nodes yet.");
    const empty = problemsIn(clusterOf([], [], { installation: observing }));
    expect(empty[0]?.meaning).toBe("No node is managed yet: kubectl label node NODE joulie.io/managed=true.");
  });

  it("expects no report from a sleeping node", () => {
    expect(idsOf({ power: { state: "off" }, controlStatus: {} })).toEqual([]);
  });

  it("CLI-01 raises no alarm about the last receipt of a sleeping node", () => {
    const controlStatus = {
      cpu: { result: "error", message: "cap does not hold", updatedAt: minutesAgo(60) },
    } as const;
    expect(idsOf({ power: { state: "off" }, controlStatus })).toEqual([]);
    expect(idsOf({ controlStatus })).toContain("control-error");
  });

  it("CLI-01 gives a node that joined or woke a moment ago time for its twin and its agent", () => {
    const joined = (minutes: number) => {
      const node = nodeObject("a");
      return { ...node, metadata: { ...node.metadata, creationTimestamp: minutesAgo(minutes) } };
    };
    expect(idsIn(clusterOf([joined(1)], []))).toEqual([]);
    expect(idsIn(clusterOf([joined(6)], []))).toEqual(["agent-silent", "twin-missing"]);
    const controlStatus = { cpu: { result: "applied", updatedAt: minutesAgo(600) } } as const;
    expect(idsOf({ power: { state: "on", since: minutesAgo(1) }, controlStatus })).toEqual([]);
    expect(idsOf({ power: { state: "on", since: minutesAgo(6) }, controlStatus })).toEqual(["agent-silent"]);
  });

  it("reports performance pods on an eco node, and not on others", () => {
    const pods = [podObject("p", { node: "a", workloadClass: "performance" })];
    expect(idsOf({ schedulableClass: "eco" }, {}, { pods })).toEqual(["performance-pods-on-eco"]);
    expect(idsOf({}, {}, { pods })).toEqual([]);
    expect(idsOf({ schedulableClass: "eco" }, {}, { pods: [podObject("s", { node: "a" })] })).toEqual([]);
  });

  it("CLI-02 puts nodes with one problem into one line that names what happened, what it means and a command", () => {
    const names = ["a", "b", "c", "d"];
    const stale = names.map((name) => twinObject(name, { lastUpdated: minutesAgo(10) }));
    const [problem, ...rest] = problemsIn(
      clusterOf(
        names.map((name) => nodeObject(name)),
        stale,
      ),
    );
    expect(rest).toEqual([]);
    expect(problem).toEqual({
      id: "twin-stale",
      severity: "warning",
      subject: "4 nodes (a, b, c, …)",
      nodes: names,
      what: "The operator has not refreshed the twin for 10m.",
      meaning: "The scheduler ignores its figures and gives it the neutral score.",
      command: "joulie doctor",
    });
  });

  it("CLI-02 lists critical problems before warnings, and warnings before notices", () => {
    const twins = [
      twinObject("a", { powerMeasurement: { source: "static", measuredNodePowerW: 1 as Watts } }),
      twinObject("b", { coolingStressNow: 95 as never }),
      twinObject("c", { power: { state: "failed" } }),
    ];
    const found = problemsIn(
      clusterOf(
        ["a", "b", "c"].map((name) => nodeObject(name)),
        twins,
      ),
    );
    expect(found.map(({ severity }) => severity)).toEqual(["critical", "warning", "notice"]);
  });

  it("ignores nodes that Joulie does not manage, and says so if there are no others", () => {
    const unmanaged = { metadata: { name: "x", labels: {} } };
    expect(idsIn(clusterOf([unmanaged], []))).toEqual(["nothing-managed"]);
    expect(idsIn(clusterOf([unmanaged, nodeObject("a")], [twinObject("a")]))).toEqual([]);
  });
});

describe("problems of the installation", () => {
  const idsWith = (more: Partial<Installation>) =>
    idsIn(clusterOf([nodeObject("a")], [twinObject("a")], { installation: installation(more) }));

  it.each<[string, Partial<Installation>]>([
    ["stopped", { stopped: true }],
    ["kinds-missing", { missingKinds: ["nodetwins.joulie.io"] }],
    ["not-installed", { programs: [], operatorLease: undefined }],
    ["not-installed", { programs: [], operatorLease: { holder: "x", age: milliseconds(61_000) } }],
    ["operator-not-leading", { operatorLease: undefined }],
    ["operator-not-leading", { operatorLease: { holder: "x", age: milliseconds(61_000) } }],
    ["unreadable", { unreadable: ["deployments: forbidden"] }],
  ])("CLI-01 reports %s", (id, more) => {
    expect(idsWith(more)).toEqual([id]);
  });

  it("CLI-01 does not take a Lease that may not be read as missing", () => {
    expect(idsWith({ operatorLease: undefined, unreadable: ["leases: forbidden"] })).toEqual(["unreadable"]);
  });

  it("CLI-01 takes an operator that leads without a Deployment as installed, as in the demo", () => {
    expect(idsWith({ programs: [] })).toEqual([]);
  });

  it("X-161 takes an old renewal as fresh in a demo, whose time passes faster", () => {
    const operatorLease = { holder: "x", age: milliseconds(3_600_000) };
    expect(idsWith({ programs: [], operatorLease, isDemo: true })).toEqual([]);
    expect(idsWith({ programs: [], operatorLease: undefined, isDemo: true })).toEqual(["not-installed"]);
  });

  it("CLI-01 reports a program with too few pods: critical if it has none", () => {
    const operator = (ready: number) => ({ ...installation().programs[0], ready }) as never;
    const severityWith = (ready: number) =>
      problemsIn(
        clusterOf([nodeObject("a")], [twinObject("a")], {
          installation: installation({ programs: [operator(ready)] }),
        }),
      )[0];
    expect(severityWith(1)).toMatchObject({ id: "program-not-ready", severity: "warning" });
    expect(severityWith(0)).toMatchObject({ id: "program-not-ready", severity: "critical" });
  });

  it("CLI-01 reports programs of different versions; an image by digest has none", () => {
    const [operator, agent] = installation().programs;
    const withAgent = (version: string | undefined) => [operator, { ...agent, version }] as never;
    expect(idsWith({ programs: withAgent("0.2.0") })).toEqual(["versions-differ"]);
    expect(idsWith({ programs: withAgent(undefined) })).toEqual([]);
  });
});

describe("problems of pods", () => {
  const withPods = (...pods: ReturnType<typeof podObject>[]) =>
    problemsIn(clusterOf([nodeObject("a")], [twinObject("a")], { pods }));

  it("CLI-01 reports pods that wait, with the command for the one that waits longest", () => {
    const found = withPods(
      podObject("new", { workloadClass: "performance", createdAgo: 10_000 }),
      podObject("late", { workloadClass: "performance", createdAgo: 130_000 }),
      podObject("oldest", { workloadClass: "performance", createdAgo: 400_000 }),
      podObject("bound", { node: "a", createdAgo: 400_000 }),
      podObject("done", { createdAgo: 400_000, phase: "Succeeded" }),
    );
    expect(found).toMatchObject([
      {
        id: "performance-pods-wait",
        what: "2 performance pods without a node, one for 6m.",
        command: "joulie why default/oldest",
      },
    ]);
    expect(withPods(podObject("s", { createdAgo: 200_000 }))).toMatchObject([{ id: "pods-wait", severity: "notice" }]);
  });

  it("reports a misspelt workload class", () => {
    expect(withPods(podObject("p", { node: "a", workloadClass: "perfomance" }))).toMatchObject([
      { id: "class-unknown" },
    ]);
  });
});
