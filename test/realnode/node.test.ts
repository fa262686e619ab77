import { existsSync, readdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mountsUnder } from "./leftovers.ts";
import { type RealNode, startRealNode } from "./node.ts";

describe("a real node", () => {
  let node: RealNode;
  beforeAll(async () => {
    node = await startRealNode();
  });
  afterAll(async () => node?.stop());

  it("is Ready and runs a pod", async () => {
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "first", namespace: "default" },
      spec: { containers: [{ name: "main", image: "localhost/pause:1", imagePullPolicy: "Never" }] },
    };
    await node.until("the default ServiceAccount exists", async () => {
      await node.api.get("/api/v1/namespaces/default/serviceaccounts/default");
      return true;
    });
    await node.api.create("/api/v1/namespaces/default/pods", pod);
    await node.until("the pod runs", async () => {
      const { status } = await node.api.get<{ status: { phase: string } }>("/api/v1/namespaces/default/pods/first");
      expect(status.phase).toBe("Running");
      return true;
    });
  });

  it("leaves no file, mount, network namespace or cgroup behind", async () => {
    const { folder, network } = node;
    await node.stop();
    expect(existsSync(folder)).toBe(false);
    expect(mountsUnder(folder)).toEqual([]);
    expect(existsSync(`/var/run/netns/${network.name}`)).toBe(false);
    expect(readdirSync("/sys/fs/cgroup")).not.toContain("kubepods");
    expect(existsSync("/sys/fs/cgroup/cpu/kubepods")).toBe(false);
  });
});
