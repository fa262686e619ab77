import { describe, expect, it } from "vitest";
import { crdOf, type StructuralSchema } from "./crd.ts";
import { type AnyKind, kinds } from "./kinds.ts";
import * as names from "./names.ts";
import { readObject } from "./read.ts";
import {
  nodeHardware,
  nodePowerProfile,
  nodeTwin,
  powerEndpoint,
  telemetryProfile,
} from "./testing/contract-fields.ts";
import { rootSchemaOf } from "./testing/sample.ts";

// The public surface, written by hand from docs/reference/contract.md, sections 1 and 2. A test that fails here says that
// a user's cluster, manifest or script would break: change the contract first, then this file, then the code.

interface Surface {
  readonly plural: string;
  readonly shortNames: readonly string[];
  readonly statusSubresource: boolean;
  readonly fields: object;
  /** Name and field; `wide` where only `-o wide` shows it. */
  readonly columns: readonly string[];
  readonly selectableFields: readonly string[];
  readonly namedAfterNode: boolean;
}

const targetColumns = ["CPU-Cap .spec.cpu.packagePowerCapPctOfMax", "GPU-Cap .spec.gpu.powerCap.capPctOfMax"];
const wideTargetColumns = [
  "CPU-Cap-W .spec.cpu.packagePowerCapWatts wide",
  "GPU-Cap-W .spec.gpu.powerCap.capWattsPerGpu wide",
];

const contract: Readonly<Record<string, Surface>> = {
  NodeHardware: {
    plural: "nodehardwares",
    shortNames: ["nhw"],
    statusSubresource: true,
    fields: nodeHardware,
    columns: [
      "CPU .status.cpu.model",
      "Sockets .status.cpu.sockets",
      "GPU .status.gpu.model",
      "GPUs .status.gpu.count",
      "Quality .status.quality.overall",
      "Updated .status.updatedAt wide",
      "Age .metadata.creationTimestamp",
    ],
    selectableFields: [],
    namedAfterNode: true,
  },
  NodeTwin: {
    plural: "nodetwins",
    shortNames: ["nt"],
    statusSubresource: true,
    fields: nodeTwin,
    columns: [
      "Class .status.schedulableClass",
      "Power .status.powerMeasurement.measuredNodePowerW",
      "Cap .status.powerMeasurement.nodeCappedPowerW",
      "Cooling .status.coolingStressNow",
      "PSU .status.predictedPsuStressScore",
      "CoolingAtCap .status.predictedCoolingStressScore wide",
      "HeadroomAtCap .status.predictedPowerHeadroomScore wide",
      "Profile .spec.profile wide",
      "Source .status.powerMeasurement.source wide",
      "State .status.power.state wide",
      ...targetColumns.map((column) => `${column} wide`),
      ...wideTargetColumns,
      "Age .metadata.creationTimestamp",
    ],
    selectableFields: [],
    namedAfterNode: true,
  },
  NodePowerProfile: {
    plural: "nodepowerprofiles",
    shortNames: ["npp"],
    statusSubresource: false,
    fields: nodePowerProfile,
    columns: ["Profile .spec.profile", ...targetColumns, ...wideTargetColumns, "Age .metadata.creationTimestamp"],
    selectableFields: [],
    namedAfterNode: true,
  },
  TelemetryProfile: {
    plural: "telemetryprofiles",
    shortNames: ["tp"],
    statusSubresource: true,
    fields: telemetryProfile,
    columns: [
      "Scope .spec.target.scope",
      "Node .spec.target.nodeName",
      "CPU-Source .spec.sources.cpu.type",
      "CPU-Control .spec.controls.cpu.type",
      "GPU-Control .spec.controls.gpu.type",
      "CPU-Result .status.control.cpu.result",
      "GPU-Result .status.control.gpu.result",
      "Age .metadata.creationTimestamp",
    ],
    selectableFields: [".spec.target.nodeName", ".spec.target.scope"],
    namedAfterNode: false,
  },
  PowerEndpoint: {
    plural: "powerendpoints",
    shortNames: ["pe"],
    statusSubresource: true,
    fields: powerEndpoint,
    columns: [
      "Power .status.powerState",
      "Proven .status.wakeProven",
      "Step .status.operation.step",
      "Last-Wake .status.lastWake.at",
      "Wake-Seconds .status.lastWake.seconds",
      "Failures .status.failures",
      "Last-Sleep .status.lastSleep.at wide",
      "Cycles .status.cyclesToday wide",
      "Age .metadata.creationTimestamp",
    ],
    selectableFields: [],
    namedAfterNode: true,
  },
};

function leafText(schema: StructuralSchema): string {
  const { type, format, minimum, exclusiveMinimum, maximum } = schema;
  if (schema.enum !== undefined) return schema.enum.join("|");
  if (type === "string") return format === "date-time" ? "timestamp" : "text";
  const least = minimum === undefined ? "" : ` ${exclusiveMinimum === true ? ">" : ">="} ${minimum}`;
  return `${type}${least}${maximum === undefined ? "" : ` <= ${maximum}`}`;
}

/** A schema in the notation of the table. */
function shapeOf(schema: StructuralSchema): unknown {
  const { properties, items, required = [] } = schema;
  if (items !== undefined) return [shapeOf(items)];
  if (properties === undefined) return leafText(schema);
  const fields = Object.entries(properties);
  return Object.fromEntries(
    fields.map(([name, field]) => [required.includes(name) ? `${name}!` : name, shapeOf(field)]),
  );
}

function surfaceOf(kind: AnyKind): Surface {
  const { names: given, versions } = crdOf(kind).spec;
  const [version] = versions;
  const root = rootSchemaOf(kind);
  const { apiVersion: _, kind: __, metadata: ___, ...fields } = root.properties ?? {};
  const rules = root["x-kubernetes-validations"] ?? [];
  return {
    plural: given.plural,
    shortNames: given.shortNames,
    statusSubresource: version?.subresources?.status !== undefined,
    fields: shapeOf({ type: "object", properties: fields, required: root.required ?? [] }) as object,
    columns: (version?.additionalPrinterColumns ?? []).map(
      ({ name, jsonPath, priority = 0 }) => `${name} ${jsonPath}${priority > 0 ? " wide" : ""}`,
    ),
    selectableFields: (version?.selectableFields ?? []).map(({ jsonPath }) => jsonPath),
    namedAfterNode: rules.some(({ rule }) => rule === "self.metadata.name == self.spec.nodeName"),
  };
}

describe("the custom resources of the contract", () => {
  it("X-01 are five cluster-scoped kinds of one group and version", () => {
    expect(kinds.map(({ kind }) => kind)).toEqual(Object.keys(contract));
    for (const kind of kinds) {
      const { group, scope, names: given, versions } = crdOf(kind).spec;
      expect([group, scope, given.kind, versions.map(({ name }) => name)]).toEqual([
        "joulie.io",
        "Cluster",
        kind.kind,
        ["v1alpha1"],
      ]);
    }
  });

  it.each(kinds.map((kind): [string, AnyKind] => [kind.kind, kind]))(
    "X-01 %s has exactly the fields, types, choices, bounds, names, columns and subresources of the contract",
    (name, kind) => {
      expect(surfaceOf(kind)).toEqual(contract[name]);
    },
  );

  it("reads the documented alias of a field", () => {
    const gpu = { capRange: { minWatts: 100, maxWatts: 700 } };
    const [hardware] = kinds;
    const reading = readObject(hardware, { metadata: { name: "a" }, spec: { nodeName: "a" }, status: { gpu } });
    expect(reading.ok && reading.value.status?.gpu?.capRangePerGpu).toEqual(gpu.capRange);
  });
});

describe("the names of the contract", () => {
  it("are exactly these, each under its own key", () => {
    const { gpuVendors, ...shared } = names;
    expect(shared).toEqual({
      apiGroup: "joulie.io",
      apiVersionName: "v1alpha1",
      apiVersion: "joulie.io/v1alpha1",
      arrivalsConfigMap: "joulie-arrivals",
      operatorConfigMap: "joulie-operator-state",
      fieldManagers: { operator: "joulie-operator", agent: "joulie-agent", power: "joulie-power" },
      labels: {
        managed: "joulie.io/managed",
        reserved: "joulie.io/reserved",
        powerProfile: "joulie.io/power-profile",
        draining: "joulie.io/draining",
        maySleep: "joulie.io/may-sleep",
        managedBy: "joulie.io/managed-by",
        rack: "joulie.io/rack",
        coolingZone: "joulie.io/cooling-zone",
      },
      managedByOperator: "operator",
      pinnedPolicyName: "pinned",
      asleepTaint: { key: "joulie.io/asleep", effect: "NoSchedule" },
      annotations: {
        workloadClass: "joulie.io/workload-class",
        expectedDuration: "joulie.io/expected-duration",
        stop: "joulie.io/stop",
        keepAwake: "joulie.io/keep-awake",
        hosts: "joulie.io/hosts",
        pinUntil: "joulie.io/pin-until",
        testPower: "joulie.io/test-power",
        drainedForTest: "joulie.io/drained-for-test",
        wake: "joulie.io/wake",
      },
      declaredHardwareLabels: {
        cpuModel: "joulie.io/hw.cpu-model",
        cpuSockets: "joulie.io/hw.cpu-sockets",
        cpuCores: "joulie.io/hw.cpu-cores",
        gpuModel: "joulie.io/hw.gpu-model",
        gpuCount: "joulie.io/hw.gpu-count",
      },
      gpuProductLabels: [
        "joulie.io/gpu.product",
        "nvidia.com/gpu.product",
        "amd.com/gpu.product",
        "amd.com/gpu.family",
      ],
      archLabel: "kubernetes.io/arch",
      nfdCpuLabels: {
        vendor: "feature.node.kubernetes.io/cpu-vendor",
        vendorId: "feature.node.kubernetes.io/cpu-model.vendor_id",
        model: "feature.node.kubernetes.io/cpu-model.name",
        sockets: "feature.node.kubernetes.io/cpu-sockets",
      },
      nfdGpuLabels: { nvidia: nfdGpu("10de"), amd: nfdGpu("1002"), intel: nfdGpu("8086") },
      gpuResources: { nvidia: "nvidia.com/gpu", amd: "amd.com/gpu", intel: "gpu.intel.com/i915" },
    });
    expect(gpuVendors).toEqual(["nvidia", "amd", "intel"]);
  });
});

const nfdGpu = (id: string) => [
  `feature.node.kubernetes.io/pci-${id}.present`,
  `feature.node.kubernetes.io/pci-0300_${id}.present`,
  `feature.node.kubernetes.io/pci-0302_${id}.present`,
  `feature.node.kubernetes.io/pci-0380_${id}.present`,
  `feature.node.kubernetes.io/pci-1200_${id}.present`,
];
