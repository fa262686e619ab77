import { describe, expect, it } from "vitest";
import { instant } from "../../../core/units/index.ts";
import { VirtualClock } from "../../../platform/clock/testing/index.ts";
import { KubeClient, type Transport } from "../../../platform/kube/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import { readInstallation } from "./cluster-reader.ts";

const NOW = instant(Date.UTC(2030, 0, 1, 12));
const namespace = "joulie-system";

interface Answer {
  readonly status: number;
  readonly value: unknown;
}
const listOf = (...items: object[]): Answer => ({
  status: 200,
  value: { kind: "List", apiVersion: "v1", metadata: { resourceVersion: "1" }, items },
});
const refusal = (status: number, reason: string): Answer => ({
  status,
  value: { kind: "Status", code: status, reason, message: reason },
});

/** A client of an API server that has these answers, by the last part of the path, and nothing else. */
const clientOf = (answers: Readonly<Record<string, Answer>>): KubeClient => {
  const transport: Transport = {
    close: async () => undefined,
    request: async ({ path }) => {
      const { status, value } = answers[/[^/?]+(?=\?|$)/.exec(path)?.[0] ?? ""] ?? refusal(404, "NotFound");
      return {
        status,
        headers: { "content-type": "application/json" },
        body: ReadableStream.from([Buffer.from(JSON.stringify(value))]),
      };
    },
  };
  return new KubeClient({ transport, clock: new VirtualClock(NOW), random: seededRandom(1), fieldManager: "test" });
};

const programOf = (component: string, spec: object, status: object, env: Readonly<Record<string, string>> = {}) => ({
  metadata: { name: `joulie-${component}`, labels: { "app.kubernetes.io/component": component } },
  spec: {
    ...spec,
    template: {
      spec: {
        containers: [
          { image: "example.com/joulie:0.1.0", env: Object.entries(env).map(([name, value]) => ({ name, value })) },
        ],
      },
    },
  },
  status,
});

const read = async (answers: Readonly<Record<string, Answer>>) => {
  const unreadable: string[] = [];
  const installation = await readInstallation(clientOf(answers), namespace, NOW, (part) => unreadable.push(part));
  return { ...installation, unreadable };
};

describe("the programs of an installation", () => {
  it("CLI-10 are Deployments, DaemonSets and StatefulSets, each with its own count of pods", async () => {
    const { programs, unreadable } = await read({
      deployments: listOf(programOf("operator", { replicas: 2 }, { readyReplicas: 2 })),
      daemonsets: listOf(programOf("agent", {}, { desiredNumberScheduled: 7, numberReady: 6 })),
      statefulsets: listOf(programOf("agent", { replicas: 3 }, { readyReplicas: 1 }, { SIMULATE_ONLY: "true" })),
    });
    const shown = programs.map(({ kind, program, name, desired, ready, observeOnly, version }) =>
      [kind, program, name, `${ready}/${desired}`, observeOnly, version].join(" "),
    );
    expect(shown.toSorted()).toEqual([
      "DaemonSet agent joulie-agent 6/7 false 0.1.0",
      "Deployment operator joulie-operator 2/2 false 0.1.0",
      "StatefulSet agent joulie-agent 1/3 true 0.1.0",
    ]);
    expect(unreadable).toEqual([]);
  });

  it("CLI-10 a StatefulSet that Kubernetes has not looked at yet has no pod ready, and one by default", async () => {
    const { programs } = await read({ statefulsets: listOf(programOf("agent", {}, {})) });
    expect(programs).toMatchObject([{ kind: "StatefulSet", desired: 1, ready: 0 }]);
  });

  it.each(["deployments", "daemonsets", "statefulsets"])(
    "CLI-10 %s that may not be read are named, and the others are still shown",
    async (plural) => {
      const all = {
        deployments: listOf(programOf("operator", {}, {})),
        daemonsets: listOf(programOf("agent", {}, {})),
        statefulsets: listOf(programOf("agent", {}, {})),
      };
      const { programs, unreadable } = await read({ ...all, [plural]: refusal(403, "Forbidden") });
      expect(unreadable).toEqual([plural]);
      expect(programs).toHaveLength(2);
    },
  );

  it("X-161 are those of a demo if the namespace names their addresses", async () => {
    const namespaceWith = (annotations: object): Answer => ({ status: 200, value: { metadata: { annotations } } });
    const demo = namespaceWith({ "joulie.io/demo-pages": "{}" });
    expect(await read({ [namespace]: demo })).toMatchObject({ isDemo: true });
    expect(await read({ [namespace]: namespaceWith({}) })).toMatchObject({ isDemo: false });
  });
});
