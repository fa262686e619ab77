import { describe, expect, it } from "vitest";
import { hardwareView } from "../inventory/index.ts";
import { nodeModelOf } from "./node-model.ts";

const viewOf = (labels: Record<string, string>, allocatable: Record<string, string>) =>
  hardwareView({ metadata: { name: "n", labels }, status: { allocatable } }, undefined);

describe("the model of a node", () => {
  it("uses the watts of the inventory and the device classes of its models", () => {
    const view = viewOf(
      {
        "joulie.io/hw.cpu-model": "AMD EPYC 9654 96-Core Processor",
        "joulie.io/hw.cpu-sockets": "2",
        "joulie.io/hw.cpu-cores": "192",
        "joulie.io/hw.gpu-model": "AMD Instinct MI300X",
        "joulie.io/hw.gpu-count": "8",
      },
      { cpu: "384" },
    );
    const model = nodeModelOf(view);
    expect(model).toMatchObject({ packages: 2, cores: 192, boards: 8 });
    expect(model.cpu).toMatchObject({ full: 360, idle: expect.closeTo(360 * 0.157, 9) });
    expect(model.gpu).toMatchObject({ full: 750, idle: 140 });
    expect(model.full).toBe(2 * 360 + 8 * 750);
    expect(model.idle).toBeCloseTo(view.cpu.idleWatts + 8 * 140, 9);
  });

  it("is the generic model for an unknown node", () => {
    const model = nodeModelOf(viewOf({}, { cpu: "100" }));
    expect(model).toMatchObject({ packages: 1, cores: 50, boards: 0, full: 175 });
    expect(model.gpu).toBeUndefined();
    expect(nodeModelOf(viewOf({}, {})).cores).toBe(1);
  });
});
