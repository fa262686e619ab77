import { annotations, CodedError, errorCodeOf, type Node, type PowerEndpoint } from "../../core/api/index.ts";
import { elapsed, formatDuration, isoTime, type Milliseconds, milliseconds } from "../../core/units/index.ts";
import { pollUntil } from "../../platform/backoff/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import { isApiError, type KubeClient, type KubeObject, plainReason, resources } from "../../platform/kube/index.ts";
import { phaseOf } from "./steps/endpoint-status.ts";
import { readEndpoint } from "./watch/cluster-view.ts";

export interface RequestOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly timeout: Milliseconds;
}

/** Of one object, whose steps the user sees. */
const POLL_ONE = { first: milliseconds(2000), longest: milliseconds(2000) };
const POLL_ALL = { first: milliseconds(2000), longest: milliseconds(15_000) };
const MAX_NAMES = 10;

/**
 * Nodes with a PowerEndpoint that are not on. `failed` ones count: they do not run either. So do those that are not Ready: if etcd
 * was restored from before a sleep, the status says on and the machine is off.
 */
export async function nodesNotOn(client: KubeClient): Promise<readonly string[]> {
  const endpoints = await endpointsIn(client);
  if (endpoints.length === 0) return [];
  const { items } = await client.listOf(resources.nodes, (node: KubeObject & Node) =>
    isRunning(node) ? undefined : node.metadata.name,
  );
  const notReady = new Set(items);
  return endpoints
    .filter((endpoint) => !isOn(endpoint) || notReady.has(endpoint.spec.nodeName))
    .map(({ metadata }) => metadata.name);
}

interface WakeOptions extends RequestOptions {
  readonly names?: readonly string[];
  /** For each node that is not awake yet, and for each that is. */
  readonly onStep?: (node: string, step: "waking" | "awake") => void;
}

/**
 * Asks the power program to wake nodes and to keep them awake, and waits until it confirms for each that the switch says on and
 * the node is Ready. Without names it is for every node with a PowerEndpoint. Returns what failed.
 */
export async function wake(options: WakeOptions): Promise<string | undefined> {
  const { client, clock, timeout, names, onStep } = options;
  const wanted = names ?? (await endpointsIn(client)).map(({ metadata }) => metadata.name);
  const requestedAt = isoTime(clock.now());
  await annotate(client, wanted, { [annotations.keepAwake]: "true", [annotations.wake]: requestedAt });
  let missing: readonly string[] = [];
  const steps = new Map<string, "waking" | "awake">();
  const isDone = await pollUntil(clock, { ...POLL_ALL, timeout }, async () => {
    const awake = (await endpointsIn(client)).filter((endpoint) => isOn(endpoint) && !isWakeRequested(endpoint));
    const awakeNames = new Set(awake.map(({ metadata }) => metadata.name));
    missing = wanted.filter((name) => !awakeNames.has(name));
    for (const name of wanted) {
      const step = awakeNames.has(name) ? "awake" : "waking";
      if (steps.get(name) !== step) onStep?.(name, step);
      steps.set(name, step);
    }
    return missing.length === 0;
  });
  if (isDone) return undefined;
  return `${missing.length} of ${wanted.length} nodes are not awake after ${formatDuration(timeout)}: ${listed(missing)}`;
}

/** Lets nodes sleep again that `wake` kept awake. Returns their names. */
export async function releaseFromWake(client: KubeClient, names?: readonly string[]): Promise<readonly string[]> {
  const all = (await endpointsIn(client)).filter(
    (endpoint) => isWakeRequested(endpoint) || endpoint.metadata.annotations?.[annotations.keepAwake] !== undefined,
  );
  const released = { [annotations.keepAwake]: null, [annotations.wake]: null };
  const wanted = names ?? all.map(({ metadata }) => metadata.name);
  await annotate(client, wanted, released);
  return wanted;
}

export interface TestResult {
  /** `skipped`: the machine was not switched. */
  readonly result: "proven" | "failed" | "skipped";
  readonly message: string;
  /** The power program rejected the test, for example because a pod is on the node. */
  readonly isRefused?: true;
}

/** The power program begins a test at once, if it runs and the switch answers. */
const MAX_START = milliseconds(5 * 60_000);

export async function testWake(
  options: RequestOptions & { readonly node: string; readonly onStep?: (step: string) => void },
): Promise<TestResult> {
  const { client, clock, timeout, node, onStep } = options;
  await annotate(client, [node], { [annotations.testPower]: isoTime(clock.now()) });
  const started = clock.monotonic();
  let last = "";
  let endpoint: PowerEndpoint | undefined;
  const isPending = () => endpoint?.metadata.annotations?.[annotations.testPower] !== undefined;
  const isOver = await pollUntil(clock, { ...POLL_ONE, timeout }, async () => {
    endpoint = (await endpointAt(client, node)) ?? endpoint;
    const step = endpoint?.status?.operation?.step ?? "";
    if (step !== "" && step !== last) onStep?.(step);
    last = step || last;
    return (
      endpoint !== undefined && (!isPending() || (last === "" && elapsed(started, clock.monotonic()) >= MAX_START))
    );
  });
  if (last === "" && isPending()) {
    // Otherwise the power program could begin it after this command has ended.
    await annotate(client, [node], { [annotations.testPower]: null });
    const reachable = endpoint?.status?.conditions?.find(({ type }) => type === "Reachable");
    const why = reachable?.status === "False" ? reachable.message : "does joulie power run?";
    const waited = formatDuration(milliseconds(Math.min(timeout, MAX_START)));
    return { result: "skipped", message: `the test did not begin within ${waited}: ${why}` };
  }
  if (!isOver)
    return {
      result: "failed",
      message: `the test did not end within ${formatDuration(timeout)}; last step: ${last || "none"}`,
    };
  const tested = endpoint?.status?.conditions?.find(({ type }) => type === "Tested");
  const { status, reason, message = "the power program left no result" } = tested ?? {};
  if (status === "True") return { result: "proven", message };
  return reason === "TestRefused" ? { result: "skipped", message, isRefused: true } : { result: "failed", message };
}

/** Undefined while the API server does not answer: a test takes minutes, and goes on. */
async function endpointAt(client: KubeClient, name: string): Promise<PowerEndpoint | undefined> {
  try {
    return readEndpoint(await client.get(resources.powerEndpoints, { name }));
  } catch (error) {
    if (errorCodeOf(error) === "JOULIE_E_API_UNREACHABLE" || isApiError(error, "internal")) return undefined;
    throw error;
  }
}

const isWakeRequested = ({ metadata }: PowerEndpoint): boolean =>
  metadata.annotations?.[annotations.wake] !== undefined;

/** Without a Ready condition no kubelet has ever reported. */
export const isRunning = ({ status }: Node): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") === true;

const isOn = ({ status }: PowerEndpoint): boolean => phaseOf(status, false) === "on";

async function endpointsIn(client: KubeClient): Promise<readonly PowerEndpoint[]> {
  try {
    return (await client.listAll(resources.powerEndpoints)).items.map(readEndpoint);
  } catch (error) {
    // Without the CustomResourceDefinition no node sleeps.
    if (isApiError(error, "notFound")) return [];
    throw error;
  }
}

/** Tries all of them, and then throws the first error: one object that cannot be written must not keep the others asleep. */
async function annotate(
  client: KubeClient,
  names: readonly string[],
  values: Readonly<Record<string, string | null>>,
): Promise<void> {
  const errors: unknown[] = [];
  for (const name of names)
    await client
      .mergePatch(resources.powerEndpoints, { name }, { metadata: { annotations: values } })
      .catch((error: unknown) => errors.push(readable(error, name)));
  if (errors.length > 0) throw errors[0];
}

const readable = (error: unknown, name: string): Error =>
  new CodedError(
    errorCodeOf(error),
    isApiError(error, "notFound")
      ? `node ${name} has no PowerEndpoint; kubectl get powerendpoints lists the nodes that can be switched`
      : plainReason(error),
    { cause: error },
  );

export const listed = (names: readonly string[]): string =>
  `${names.slice(0, MAX_NAMES).join(", ")}${names.length > MAX_NAMES ? ", …" : ""}`;
