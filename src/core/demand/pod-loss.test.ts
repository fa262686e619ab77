import { describe, expect, it } from "vitest";
import type { Pod } from "../api/index.ts";
import { isControlPlanePod } from "./pod-loss.ts";

describe("X-132 static pods of the control plane", () => {
  const mirror = { "kubernetes.io/config.mirror": "x" };
  const labelled = (
    labels: Readonly<Record<string, string>>,
    annotations: Readonly<Record<string, string>> = mirror,
  ): Pod => ({
    metadata: { name: "p", labels, annotations },
    spec: {},
  });

  it.each<[string, Pod, boolean]>([
    ["etcd of kubeadm", labelled({ component: "etcd", tier: "control-plane" }), true],
    ["kube-apiserver of kOps", labelled({ "k8s-app": "kube-apiserver" }), true],
    ["another program of tier control-plane", labelled({ component: "kube-vip", tier: "control-plane" }), true],
    [
      "kube-proxy of RKE2, which runs on every node",
      labelled({ component: "kube-proxy", tier: "control-plane" }),
      false,
    ],
    ["another static pod", labelled({ app: "node-exporter" }), false],
    ["a pod that is not static", labelled({ component: "etcd" }, {}), false],
  ])("%s", (_, pod, expected) => {
    expect(isControlPlanePod(pod)).toBe(expected);
  });
});
