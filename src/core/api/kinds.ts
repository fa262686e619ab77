import type { z } from "zod";
import { type NodeHardware, nodeHardwareSchema } from "./node-hardware.ts";
import { type NodeTwin, nodeTwinSchema } from "./node-twin.ts";
import { type PowerEndpoint, powerEndpointSchema } from "./power-endpoint.ts";
import { type NodePowerProfile, nodePowerProfileSchema } from "./power-target.ts";
import { type TelemetryProfile, telemetryProfileSchema } from "./telemetry-profile.ts";

interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly jsonPath: string;
  /** Columns with a priority above 0 are shown only by `kubectl get -o wide`. */
  readonly priority?: number;
}

/** An older or shorter name that readers accept for a field. */
interface FieldAlias {
  readonly parent: readonly string[];
  readonly alias: string;
  readonly field: string;
}

/** Describes one custom resource for the CRD and the reference page. All kinds are cluster-scoped. */
export interface ResourceKind<Object> {
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly purpose: string;
  readonly writtenBy: string;
  readonly schema: z.ZodObject & z.ZodType<Object>;
  /** Whether the object describes one node and has the node's name. */
  readonly perNode: boolean;
  readonly statusSubresource: boolean;
  readonly columns: readonly PrinterColumn[];
  readonly selectableFields?: readonly string[];
  readonly aliases?: readonly FieldAlias[];
}

const column = (name: string, type: PrinterColumn["type"], jsonPath: string, priority = 0): PrinterColumn =>
  priority === 0 ? { name, type, jsonPath } : { name, type, jsonPath, priority };

const age = column("Age", "date", ".metadata.creationTimestamp");
const target = [
  column("CPU-Cap", "number", ".spec.cpu.packagePowerCapPctOfMax"),
  column("GPU-Cap", "number", ".spec.gpu.powerCap.capPctOfMax"),
  column("CPU-Cap-W", "number", ".spec.cpu.packagePowerCapWatts", 1),
  column("GPU-Cap-W", "number", ".spec.gpu.powerCap.capWattsPerGpu", 1),
];

export const nodeHardwareKind: ResourceKind<NodeHardware> = {
  kind: "NodeHardware",
  plural: "nodehardwares",
  singular: "nodehardware",
  shortNames: ["nhw"],
  purpose: "The hardware of a node as its agent discovered it: models, controllable devices and their cap ranges.",
  writtenBy: "The agent writes the whole object. Do not edit it; declare hardware with node labels instead.",
  schema: nodeHardwareSchema,
  perNode: true,
  statusSubresource: true,
  columns: [
    column("CPU", "string", ".status.cpu.model"),
    column("Sockets", "integer", ".status.cpu.sockets"),
    column("GPU", "string", ".status.gpu.model"),
    column("GPUs", "integer", ".status.gpu.count"),
    column("Quality", "string", ".status.quality.overall"),
    column("Updated", "date", ".status.updatedAt", 1),
    age,
  ],
  aliases: [{ parent: ["status", "gpu"], alias: "capRange", field: "capRangePerGpu" }],
};

export const nodeTwinKind: ResourceKind<NodeTwin> = {
  kind: "NodeTwin",
  plural: "nodetwins",
  singular: "nodetwin",
  shortNames: ["nt"],
  purpose: "The power target of a node (spec), and the predictions and measurements of its digital twin (status).",
  writtenBy:
    "The operator writes spec and status. The agent writes only status.controlStatus, the power program only status.power. Server-side apply keeps their fields apart.",
  schema: nodeTwinSchema,
  perNode: true,
  statusSubresource: true,
  columns: [
    column("Class", "string", ".status.schedulableClass"),
    column("Power", "number", ".status.powerMeasurement.measuredNodePowerW"),
    column("Cap", "number", ".status.powerMeasurement.nodeCappedPowerW"),
    column("Cooling", "number", ".status.coolingStressNow"),
    column("PSU", "number", ".status.predictedPsuStressScore"),
    column("CoolingAtCap", "number", ".status.predictedCoolingStressScore", 1),
    column("HeadroomAtCap", "number", ".status.predictedPowerHeadroomScore", 1),
    column("Profile", "string", ".spec.profile", 1),
    column("Source", "string", ".status.powerMeasurement.source", 1),
    column("State", "string", ".status.power.state", 1),
    ...target.map((one) => ({ ...one, priority: 1 })),
    age,
  ],
};

export const nodePowerProfileKind: ResourceKind<NodePowerProfile> = {
  kind: "NodePowerProfile",
  plural: "nodepowerprofiles",
  singular: "nodepowerprofile",
  shortNames: ["npp"],
  purpose: "A pin: the power target that a user sets for one node. The operator plans the other nodes around it.",
  writtenBy:
    "A user writes it, and the operator never changes or deletes it. With WRITE_NODE_POWER_PROFILES=true the operator also mirrors its own targets here, labelled joulie.io/managed-by=operator.",
  schema: nodePowerProfileSchema,
  perNode: true,
  statusSubresource: false,
  columns: [column("Profile", "string", ".spec.profile"), ...target, age],
};

export const telemetryProfileKind: ResourceKind<TelemetryProfile> = {
  kind: "TelemetryProfile",
  plural: "telemetryprofiles",
  singular: "telemetryprofile",
  shortNames: ["tp"],
  purpose: "Where agents read power and how they set caps, for one node or for the whole cluster.",
  writtenBy: "A user writes spec. The agent of the node writes status if the scope is node.",
  schema: telemetryProfileSchema,
  perNode: false,
  statusSubresource: true,
  columns: [
    column("Scope", "string", ".spec.target.scope"),
    column("Node", "string", ".spec.target.nodeName"),
    column("CPU-Source", "string", ".spec.sources.cpu.type"),
    column("CPU-Control", "string", ".spec.controls.cpu.type"),
    column("GPU-Control", "string", ".spec.controls.gpu.type"),
    column("CPU-Result", "string", ".status.control.cpu.result"),
    column("GPU-Result", "string", ".status.control.gpu.result"),
    age,
  ],
  selectableFields: [".spec.target.nodeName", ".spec.target.scope"],
};

export const powerEndpointKind: ResourceKind<PowerEndpoint> = {
  kind: "PowerEndpoint",
  plural: "powerendpoints",
  singular: "powerendpoint",
  shortNames: ["pe"],
  purpose: "How the machine of a node is switched off and on: Redfish, Metal3 or a webhook.",
  writtenBy: "A user writes spec. The power program writes status.",
  schema: powerEndpointSchema,
  perNode: true,
  statusSubresource: true,
  columns: [
    column("Power", "string", ".status.powerState"),
    column("Proven", "boolean", ".status.wakeProven"),
    column("Step", "string", ".status.operation.step"),
    column("Last-Wake", "date", ".status.lastWake.at"),
    column("Wake-Seconds", "number", ".status.lastWake.seconds"),
    column("Failures", "integer", ".status.failures"),
    column("Last-Sleep", "date", ".status.lastSleep.at", 1),
    column("Cycles", "integer", ".status.cyclesToday", 1),
    age,
  ],
};

export const kinds = [
  nodeHardwareKind,
  nodeTwinKind,
  nodePowerProfileKind,
  telemetryProfileKind,
  powerEndpointKind,
] as const;
/** A kind whose object type does not matter. */
export type AnyKind = ResourceKind<unknown>;
