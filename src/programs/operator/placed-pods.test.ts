import { describe, expect, it } from "vitest";
import { resources } from "../../platform/kube/index.ts";
import { OperatorTestHarness } from "./testing/test-harness.ts";

describe("joulie_operator_pods_placed_total", () => {
  const placed = "joulie_operator_pods_placed_total";

  it("counts pods that a scheduler binds to managed nodes, and no others", async () => {
    const harness = await OperatorTestHarness.begin();
    await harness.createNode("a");
    await harness.createNode("unmanaged");
    await harness.label("unmanaged", { "joulie.io/managed": null });
    await harness.createPod("before", "a");
    await harness.createPod("waiting", undefined);
    await harness.createPod("elsewhere", undefined);
    const controller = { apiVersion: "apps/v1", kind: "DaemonSet", name: "ds", uid: "1", controller: true };
    await harness.user.create(
      resources.pods,
      {
        metadata: { name: "daemon", ownerReferences: [controller] },
        spec: { containers: [{ name: "a", image: "b" }] },
      },
      { namespace: "default" },
    );
    const operator = harness.start();
    await harness.advance(5);
    expect(await operator.series(placed)).toEqual([`${placed} 0`]);
    const bind = async (name: string, nodeName: string) => harness.user.bind({ name, namespace: "default" }, nodeName);
    await bind("elsewhere", "unmanaged");
    await bind("daemon", "a");
    await harness.createPod("by-name", "a");
    await harness.advance(5);
    expect(await operator.series(placed)).toEqual([`${placed} 0`]);
    await bind("waiting", "a");
    await harness.finishPod("waiting");
    await harness.advance(5);
    expect(await operator.series(placed)).toEqual([`${placed} 1`]);
    await harness.end();
  });
});
