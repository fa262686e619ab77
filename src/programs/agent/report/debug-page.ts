import type { NodeRunner } from "../loop/node-runner.ts";

export function nodeDebugPage(runner: NodeRunner): unknown {
  const { name, last, routing, hardware, control } = runner;
  if (last === undefined) return { name, ticked: false };
  const { intent, route, cpu, gpu, power } = last;
  return {
    name,
    intent,
    route,
    superseded: routing?.superseded.map(({ profile, by }) => ({ name: profile.metadata.name, by })),
    cpu,
    gpu,
    dvfs: control.dvfs,
    power: {
      cpu: { total: power.cpu.total, missing: power.cpu.missing, boards: Object.fromEntries(power.cpu.boards) },
      gpu: { total: power.gpu.total, missing: power.gpu.missing, boards: Object.fromEntries(power.gpu.boards) },
    },
    inForce: control.limitsInForce.map(({ backend, board, original, limit, ours, at }) => ({
      backend,
      board,
      original,
      limit,
      ours,
      at,
    })),
    hardware: hardware && { cpu: hardware.cpu, gpu: hardware.gpu },
  };
}
