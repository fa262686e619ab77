import * as z from "zod";
import type { Seconds } from "../units/index.ts";
import {
  block,
  branded,
  choiceField,
  flagField,
  httpEndpoint,
  integerField,
  objectNameField,
  textField,
  timestampField,
  withReadFallback,
} from "./fields.ts";
import { conditions, header } from "./metadata.ts";
import { namedAfterNode, needsExactlyOneOf, withRules } from "./rules.ts";

export const endpointTypes = ["redfish", "metal3", "webhook"] as const;
export type EndpointType = (typeof endpointTypes)[number];
const switchStates = ["on", "off", "unknown"] as const;
export type SwitchState = (typeof switchStates)[number];
const powerResults = ["succeeded", "failed"] as const;
const operationTypes = ["sleep", "wake"] as const;
/** The steps of a sleep, in order, then those of a wake. */
const operationSteps = ["taint", "count", "shutdown", "force", "on", "ready", "untaint"] as const;
export type OperationStep = (typeof operationSteps)[number];

const seconds = (description: string) => branded<Seconds>(z.number().min(0).describe(description));

const secretRef = (description: string) =>
  block(description, { name: objectNameField("Name of the Secret, in the namespace of the power program.") });

const redfish = block("A machine behind a Redfish service (BMC).", {
  address: httpEndpoint("Address of the service: https://host[:port]. http:// needs insecureSkipVerify."),
  systemId: textField(
    253,
    "The Id of the ComputerSystem; required only if the service has several systems.",
  ).optional(),
  credentialsSecretRef: secretRef("Secret with the keys username and password.").optional(),
  caSecretRef: secretRef("Secret with the key ca.crt, which signs the certificate of the service.").optional(),
  insecureSkipVerify: flagField(
    "Accept any certificate, and http://. The network can then read the password.",
  ).optional(),
});

const metal3 = block("A machine that Metal3 manages: spec.online of its BareMetalHost.", {
  namespace: objectNameField("Namespace of the BareMetalHost."),
  name: objectNameField("Name of the BareMetalHost."),
});

const webhook = block("A service of the user that switches the machine.", {
  url: httpEndpoint("GET returns the state, POST switches; {node} is replaced by the node's name, URL-escaped."),
  credentialsSecretRef: secretRef("Secret with the key token, sent as a bearer token.").optional(),
});

const spec = withRules(
  block("How the machine of one node is switched on and off.", {
    nodeName: objectNameField("Name of the node; it is also the name of this object."),
    redfish: redfish.optional(),
    metal3: metal3.optional(),
    webhook: webhook.optional(),
  }),
  needsExactlyOneOf(...endpointTypes),
);

const outcome = (what: string) => ({
  at: timestampField(`When the last ${what} ended.`),
  seconds: seconds("How long it took, in seconds. Absent if that was not measured.").optional(),
  result: withReadFallback(choiceField(powerResults, `Result of the last ${what}.`), "failed"),
});

const operation = block("The sleep or wake in progress. A restarted power program continues here.", {
  // An operation that cannot be read is a wake: it switches nothing off.
  type: withReadFallback(choiceField(operationTypes, "What is in progress."), "wake"),
  step: withReadFallback(choiceField(operationSteps, "The step that comes next or is waited for."), "on"),
  startedAt: timestampField("When the operation started.").optional(),
  stepAt: timestampField("When its step started.").optional(),
  attempt: integerField(1, undefined, "Which attempt of a wake this is.").optional(),
  test: flagField("Whether this belongs to a test of the wake.").optional(),
  proves: flagField("Whether the machine was off before, so that a success proves the wake.").optional(),
  generation: integerField(1, undefined, "metadata.generation when the machine was off.").optional(),
  bootBefore: textField(64, "The boot ID of the node before the machine was switched on.").optional(),
  heartbeatBefore: textField(64, "The last heartbeat of the kubelet before the machine was switched on.").optional(),
  reportBefore: textField(64, "The last report of the agent before the machine was switched on.").optional(),
});

const status = block("What the power program observed and did.", {
  powerState: withReadFallback(choiceField(switchStates, "What the switch last said."), "unknown").optional(),
  observedAt: timestampField("When powerState last changed.").optional(),
  wakeProven: flagField(
    "Whether a wake has succeeded and none has failed since. Only such nodes may sleep.",
  ).optional(),
  provenGeneration: integerField(1, undefined, "metadata.generation whose wake is proven.").optional(),
  lastWake: block("The last wake.", outcome("wake")).optional(),
  lastSleep: block("The last sleep.", outcome("sleep")).optional(),
  failures: integerField(0, undefined, "Failed calls of the switch in a row.").optional(),
  cyclesToday: integerField(0, undefined, "Sleeps on the UTC day of lastSleep.at.").optional(),
  operation: operation.optional(),
  conditions: conditions().optional(),
});

export const powerEndpointSchema = withRules(
  z.object({ ...header("PowerEndpoint"), spec, status: status.optional() }),
  namedAfterNode,
);

export type PowerEndpoint = z.infer<typeof powerEndpointSchema>;
export type PowerEndpointSpec = z.infer<typeof spec>;
export type PowerEndpointStatus = z.infer<typeof status>;
export type PowerOperation = z.infer<typeof operation>;
export type PowerOutcome = NonNullable<PowerEndpointStatus["lastWake"]>;
export type RedfishEndpoint = z.infer<typeof redfish>;
export type Metal3Endpoint = z.infer<typeof metal3>;
export type WebhookEndpoint = z.infer<typeof webhook>;

/** Whether a wake is proven with the spec as it is: another address may belong to another machine. */
export const isWakeProven = ({ metadata, status: known }: Pick<PowerEndpoint, "metadata" | "status">): boolean =>
  known?.wakeProven === true && (known.provenGeneration ?? metadata.generation) === metadata.generation;

/** Whether the switch would take power away, as far as the power program knows. */
export const maySwitchOff = ({ status: known }: Pick<PowerEndpoint, "status">): boolean =>
  known?.conditions?.find(({ type }) => type === "MaySwitchOff")?.status !== "False";

/** The sleeps of the node on the UTC day of `now`. */
export function cyclesOn(day: string, endpointStatus: PowerEndpointStatus | undefined): number {
  const { lastSleep, cyclesToday = 0 } = endpointStatus ?? {};
  return lastSleep !== undefined && utcDay(lastSleep.at) === utcDay(day) ? cyclesToday : 0;
}

/** Times in UTC start with their day. */
const utcDay = (text: string) => (text.endsWith("Z") ? text : new Date(text).toISOString()).slice(0, 10);
