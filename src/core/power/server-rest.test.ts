import { describe, expect, it } from "vitest";
import { hardwareView } from "../inventory/index.ts";
import { watts } from "../units/index.ts";
import type { LoadPoints } from "./device.ts";
import { SPECPOWER } from "./device-classes.ts";
import { type NodePowerModel, nodePowerModelOf } from "./node-power.ts";
import { restOfServerOf, wallPower } from "./server-rest.ts";

const server = (cpu: string, sockets: number, gpu?: { model: string; count: number }): NodePowerModel =>
  nodePowerModelOf(
    hardwareView(
      { metadata: { name: "n" } },
      {
        cpu: { rawModel: cpu, sockets },
        ...(gpu && { gpu: { present: true, rawModel: gpu.model, vendor: "nvidia", count: gpu.count } }),
      },
    ),
  );

const atWall = (model: NodePowerModel, devices: number): number =>
  wallPower(watts(devices), model.idle, restOfServerOf(model));

/** Errors of the model in percent at idle and at full load, as docs/guides/model.md shows them. */
const errorsOf = (model: NodePowerModel, points: LoadPoints): readonly string[] =>
  [
    [atWall(model, model.idle), points[0]?.[1] ?? 0],
    [atWall(model, model.full), points.at(-1)?.[1] ?? 0],
  ].map(([modelled = 0, published = 0]) => ((modelled / published - 1) * 100).toFixed(0));

describe("the rest of the server against SPECpower at the wall", () => {
  it.each([
    ["AMD EPYC 9654", 2, SPECPOWER.epyc9654, ["-4", "-1"]],
    ["AMD EPYC 9655", 2, SPECPOWER.epyc9655, ["29", "4"]],
    ["Intel(R) Xeon(R) Platinum 8380", 2, SPECPOWER.xeon8380, ["-17", "-2"]],
    // These servers draw less at full load than the rating of their packages alone, so no rest can fit them.
    ["AMD EPYC 7763", 1, SPECPOWER.epyc7763, ["21", "15"]],
    ["AMD EPYC 9965", 2, SPECPOWER.epyc9965, ["40", "39"]],
  ] as const)("%s, %i sockets: errors of idle and full load as the guide states", (cpu, sockets, points, errors) => {
    expect(errorsOf(server(cpu, sockets), points)).toEqual(errors);
  });

  it("the servers of the fit are within 4 percent at full load and 1 percent in the mean", () => {
    const fitted = [
      errorsOf(server("AMD EPYC 9654", 2), SPECPOWER.epyc9654),
      errorsOf(server("AMD EPYC 9655", 2), SPECPOWER.epyc9655),
      errorsOf(server("Intel(R) Xeon(R) Platinum 8380", 2), SPECPOWER.xeon8380),
    ].map(([, full]) => Number(full));
    for (const error of fitted) expect(Math.abs(error)).toBeLessThanOrEqual(4);
    expect(Math.abs(fitted.reduce((sum, error) => sum + error, 0) / fitted.length)).toBeLessThanOrEqual(1);
  });
});

describe("the rest of a server with GPUs", () => {
  it("an HGX node with eight H100 draws the published 8.4 kW at full load, within 1 percent", () => {
    const hgx = server("AMD EPYC 9354", 2, { model: "NVIDIA H100 80GB HBM3", count: 8 });
    expect(Math.abs(atWall(hgx, hgx.full) / 8400 - 1)).toBeLessThan(0.01);
  });

  it("grows with the rating of the boards and never falls below that of the packages", () => {
    const [small, large] = [4, 8].map((count) => server("AMD EPYC 9354", 2, { model: "NVIDIA L40S", count }));
    const bare = restOfServerOf(server("AMD EPYC 9354", 2));
    if (small === undefined || large === undefined) throw new Error("two servers are expected");
    expect(restOfServerOf(large).idle).toBeGreaterThan(restOfServerOf(small).idle);
    expect(restOfServerOf(small).idle).toBeGreaterThan(bare.idle);
  });
});
