import * as z from "zod";
import { profileControlReport } from "./control-report.ts";
import { block, choice, httpEndpoint, objectName, withReadFallback, integerField } from "./fields.ts";
import { conditions, header } from "./metadata.ts";
import { needsWhen, withRules } from "./rules.ts";

export const telemetryScopes = ["node", "cluster"] as const;
export type TelemetryScope = (typeof telemetryScopes)[number];
export const sourceTypes = ["none", "host", "http", "prometheus"] as const;
export type SourceType = (typeof sourceTypes)[number];
export const controlTypes = ["none", "host", "http"] as const;
export type ControlType = (typeof controlTypes)[number];
export const cpuControlModes = ["auto", "rapl", "dvfs"] as const;
export type CpuControlMode = (typeof cpuControlModes)[number];
export const gpuControlModes = ["auto", "powercap"] as const;
export type GpuControlMode = (typeof gpuControlModes)[number];

// Where the target cannot be read the profile aims at no node, rather than at every node.
const target = withReadFallback(
  withRules(
    block("Which nodes the routing is for.", {
      scope: withReadFallback(choice(telemetryScopes, "One node, or every node without a profile of its own."), "node"),
      nodeName: objectName("Name of the node, where the scope is node.").optional(),
    }),
    needsWhen("scope", "node", "nodeName"),
  ),
  { scope: "node" },
);

const http = () => ({
  endpoint: httpEndpoint("Address to call; {node} in it becomes the node's name, URL-escaped."),
  timeoutSeconds: integerField(1, 300, "How long to wait for an answer, in seconds.").optional(),
});

// An unreadable type reads as none: to read nothing and to touch nothing is the only safe guess.
const source = (description: string) =>
  withRules(
    block(description, {
      type: withReadFallback(choice(sourceTypes, "Where readings come from."), "none"),
      http: block("How to ask over HTTP, where the type is http.", http()).optional(),
      prometheus: block("How to ask Prometheus, where the type is prometheus.", {
        endpoint: httpEndpoint("Address of Prometheus; {node} in it becomes the node's name, URL-escaped."),
        query: z
          .string()
          .min(1)
          .max(4096)
          .describe("Query that yields one number; {node} in it becomes the node's name."),
      }).optional(),
    }),
    needsWhen("type", "http", "http"),
    needsWhen("type", "prometheus", "prometheus"),
  );

const control = <const Modes extends readonly [string, ...string[]]>(device: string, modes: Modes) =>
  withRules(
    block(`How the ${device} is capped.`, {
      type: withReadFallback(choice(controlTypes, "Which backend acts."), "none"),
      http: block("How to command over HTTP, where the type is http.", {
        ...http(),
        mode: choice(modes, `Which ${device} control the endpoint offers.`).optional(),
      }).optional(),
    }),
    needsWhen("type", "http", "http"),
  );

const spec = block("Where an agent reads power and how it controls it.", {
  target,
  sources: block("Where readings come from, per subject.", {
    cpu: source("CPU power.").optional(),
    gpu: source("GPU power.").optional(),
    thermal: source("Temperatures.").optional(),
    context: source("Anything else worth knowing about the load.").optional(),
  }).optional(),
  controls: block("How devices are capped.", {
    cpu: control("CPU", cpuControlModes).optional(),
    gpu: control("GPU", gpuControlModes).optional(),
  }).optional(),
});

const status = block("What came of it; written where the scope is node.", {
  control: block("What the agent last did, per device.", {
    cpu: profileControlReport("CPU").optional(),
    gpu: profileControlReport("GPU").optional(),
  }).optional(),
  conditions: conditions().optional(),
});

export const telemetryProfileSchema = z.object({ ...header("TelemetryProfile"), spec, status: status.optional() });

export type TelemetryProfile = z.infer<typeof telemetryProfileSchema>;
export type TelemetryProfileSpec = z.infer<typeof spec>;
export type TelemetryProfileStatus = z.infer<typeof status>;
export type TelemetrySource = z.infer<ReturnType<typeof source>>;
export type CpuControlSpec = z.infer<ReturnType<typeof control<typeof cpuControlModes>>>;
export type GpuControlSpec = z.infer<ReturnType<typeof control<typeof gpuControlModes>>>;
