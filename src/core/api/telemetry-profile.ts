import * as z from "zod";
import { profileControlReport } from "./control-report.ts";
import { block, choiceField, httpEndpoint, integerField, objectNameField, withReadFallback } from "./fields.ts";
import { conditions, header } from "./metadata.ts";
import { needsWhen, withRules } from "./rules.ts";

const telemetryScopes = ["node", "cluster"] as const;
export type TelemetryScope = (typeof telemetryScopes)[number];
const sourceTypes = ["none", "host", "http", "prometheus"] as const;
const controlTypes = ["none", "host", "http"] as const;
const cpuControlModes = ["auto", "rapl", "dvfs"] as const;
export type CpuControlMode = (typeof cpuControlModes)[number];
const gpuControlModes = ["auto", "powercap"] as const;
export type GpuControlMode = (typeof gpuControlModes)[number];

// If the target is invalid, the profile applies to no node instead of to every node.
const target = withReadFallback(
  withRules(
    block("The nodes that this profile applies to.", {
      scope: withReadFallback(
        choiceField(telemetryScopes, "One node, or every node without a profile of its own."),
        "node",
      ),
      nodeName: objectNameField("Name of the node; required if the scope is node.").optional(),
    }),
    needsWhen("scope", "node", "nodeName"),
  ),
  { scope: "node" },
);

const http = () => ({
  endpoint: httpEndpoint("URL to call; {node} is replaced by the node's name, URL-escaped."),
  timeoutSeconds: integerField(1, 300, "Timeout of a request, in seconds.").optional(),
});

// An invalid type reads as none: the only safe fallback is to read nothing and to control nothing.
const source = (description: string) =>
  withRules(
    block(description, {
      type: withReadFallback(choiceField(sourceTypes, "Type of the source."), "none"),
      http: block("HTTP settings; required if the type is http.", http()).optional(),
      prometheus: block("Prometheus settings; required if the type is prometheus.", {
        endpoint: httpEndpoint("URL of Prometheus; {node} is replaced by the node's name, URL-escaped."),
        query: z
          .string()
          .min(1)
          .max(4096)
          .describe("Query that returns one number; {node} is replaced by the node's name."),
      }).optional(),
    }),
    needsWhen("type", "http", "http"),
    needsWhen("type", "prometheus", "prometheus"),
  );

const control = <const Modes extends readonly [string, ...string[]]>(device: string, modes: Modes) =>
  withRules(
    block(`How the ${device} is capped.`, {
      type: withReadFallback(choiceField(controlTypes, "Type of the control backend."), "none"),
      http: block("HTTP settings; required if the type is http.", {
        ...http(),
        mode: choiceField(modes, `Type of ${device} control that the endpoint offers.`).optional(),
      }).optional(),
    }),
    needsWhen("type", "http", "http"),
  );

const spec = block("Where an agent reads power and how it controls it.", {
  target,
  sources: block("Sources of the readings.", {
    cpu: source("CPU power.").optional(),
    gpu: source("GPU power.").optional(),
    thermal: source("Temperatures.").optional(),
    context: source("Other information about the load.").optional(),
  }).optional(),
  controls: block("How the agent caps devices.", {
    cpu: control("CPU", cpuControlModes).optional(),
    gpu: control("GPU", gpuControlModes).optional(),
  }).optional(),
});

const status = block("Result of the control; written only if the scope is node.", {
  control: block("What the agent last did, per device.", {
    cpu: profileControlReport("CPU").optional(),
    gpu: profileControlReport("GPU").optional(),
  }).optional(),
  conditions: conditions().optional(),
});

export const telemetryProfileSchema = z.object({ ...header("TelemetryProfile"), spec, status: status.optional() });

export type TelemetryProfile = z.infer<typeof telemetryProfileSchema>;
export type TelemetryProfileSpec = z.infer<typeof spec>;
export type TelemetrySource = z.infer<ReturnType<typeof source>>;
