import type { NodeHardware, NodeHardwareStatus } from "../../../core/api/index.ts";
import type { HardwareView } from "../../../core/inventory/index.ts";
import type { Route } from "../routing/routing.ts";

/** Marks an object that was made from labels alone, so that it is not taken for discovered hardware later. */
const FROM_LABELS = "pool mode: from labels and the catalogue; nothing was probed";

/** Hardware that an agent on the node discovered; undefined if only a pool's agent has written the object. */
export const probedHardware = (hardware: NodeHardware | undefined): NodeHardwareStatus | undefined =>
  hardware?.status?.quality?.warnings?.includes(FROM_LABELS) === true ? undefined : hardware?.status;

/** The hardware of a node that can only be reached over HTTP, from its labels and the catalogue. */
export function hardwareFromLabels({ cpu, gpu }: HardwareView, route: Route): NodeHardwareStatus {
  const known = (way: Route["cpuControl" | "cpuSource"]): boolean => way.type === "http" || way.type === "prometheus";
  const capabilities = {
    cpuControl: known(route.cpuControl),
    cpuTelemetry: known(route.cpuSource),
    gpuControl: gpu !== undefined && known(route.gpuControl),
    gpuTelemetry: gpu !== undefined && known(route.gpuSource),
  };
  const quality = { overall: "heuristic", warnings: [FROM_LABELS] } as const;
  return {
    cpu: {
      ...(cpu.model !== undefined && { model: cpu.model }),
      ...(cpu.vendor !== undefined && { vendor: cpu.vendor }),
      ...(cpu.areSocketsAssumed !== true && { sockets: cpu.sockets }),
      ...(Number.isInteger(cpu.totalCores) && { totalCores: cpu.totalCores }),
      ...(cpu.from.maxWatts !== "fallback" && {
        capRange: { type: "package", maxWattsPerSocket: cpu.maxWattsPerSocket },
      }),
      controlAvailable: capabilities.cpuControl,
      telemetryAvailable: capabilities.cpuTelemetry,
      quality: "heuristic",
    },
    gpu:
      gpu === undefined
        ? { present: false }
        : {
            present: true,
            ...(gpu.model !== undefined && { model: gpu.model }),
            ...(gpu.vendor !== undefined && { vendor: gpu.vendor }),
            count: gpu.count,
            ...(gpu.from.maxWatts !== "fallback" && {
              capRangePerGpu: { minWatts: gpu.minWatts, maxWatts: gpu.maxWatts, defaultWatts: gpu.defaultWatts },
            }),
            controlAvailable: capabilities.gpuControl,
            telemetryAvailable: capabilities.gpuTelemetry,
            quality: "heuristic",
          },
    inventoryResolution: {
      hardwareCatalogKey: { cpu: cpu.key, ...(gpu && { gpu: gpu.key }) },
      exactness: { cpu: cpu.match, ...(gpu && { gpu: gpu.match }) },
    },
    capabilities,
    quality: { ...quality, warnings: [...quality.warnings] },
  };
}
