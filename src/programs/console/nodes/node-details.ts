import { workloadClassOf } from "../../../core/demand/index.ts";
import { hardwareView } from "../../../core/inventory/index.ts";
import {
  ageText,
  type ClusterObjects,
  type DeviceCap,
  defaultReportSettings,
  findProblems,
  type NodeSummary,
  podsOfNodes,
  sourceText,
  summarizeNode,
} from "../../../core/report/index.ts";
import { between, type Instant, instant, isoTime } from "../../../core/units/index.ts";
import { isApiError, type KubeClient, type KubeObject, resources } from "../../../platform/kube/index.ts";
import { whyUnknown } from "../cluster/cluster-reader.ts";
import { type AdvisingContext, advised, ConsoleError, type Screen } from "../context.ts";
import type { Printable } from "../output/output.ts";
import { cut, paintFor, percentText, powerText, sparkline, wrap } from "../output/screen.ts";
import type { NodeHistory, PastCapChange } from "./node-history.ts";
import { capText } from "./node-list.ts";

export interface NodeEvent {
  readonly at: string;
  readonly reason: string;
  readonly note: string;
}

type EventObject = KubeObject & {
  readonly metadata: { readonly creationTimestamp?: string };
  readonly reason?: string;
  readonly note?: string;
  readonly eventTime?: string;
  readonly regarding?: { readonly kind?: string };
  readonly reportingController?: string;
  readonly series?: { readonly lastObservedTime?: string };
};

const EVENTS_LIMIT = 10;
/** Events about cluster-scoped objects are in this namespace. */
export const EVENT_NAMESPACE = "default";

export async function eventsOf(client: KubeClient, node: string): Promise<readonly NodeEvent[] | undefined> {
  try {
    const { items } = await client.listAll<EventObject>(resources.events, {
      namespace: EVENT_NAMESPACE,
      // A large cluster has thousands of Events, and --watch asks every two seconds.
      fieldSelector: `regarding.name=${node}`,
    });
    const ours = items.filter(({ reportingController = "" }) => reportingController.includes("joulie"));
    const aboutNode = new Set(ours.filter(isAboutNode).map(textOf));
    return ours
      .filter((event) => isAboutNode(event) || !aboutNode.has(textOf(event)))
      .map((event) => ({
        at: event.series?.lastObservedTime ?? event.eventTime ?? event.metadata.creationTimestamp ?? "",
        reason: event.reason ?? "",
        note: event.note ?? "",
      }))
      .toSorted((one, other) => (one.at > other.at ? -1 : 1))
      .slice(0, EVENTS_LIMIT);
  } catch (error) {
    return isApiError(error, "notFound") ? [] : undefined;
  }
}

// Sleeps and wakes have an Event on the node and the same one on its PowerEndpoint.
const isAboutNode = ({ regarding }: EventObject): boolean => regarding?.kind === "Node";
const textOf = ({ reason, note }: EventObject): string => `${reason}: ${note}`;

export interface NodePast {
  readonly events: readonly NodeEvent[] | undefined;
  readonly history: NodeHistory;
}

export function nodeDetailsOf(
  name: string,
  objects: ClusterObjects,
  past: NodePast | undefined,
  { screen, target }: AdvisingContext,
): Printable {
  const node = objects.nodes.find(({ metadata }) => metadata.name === name);
  if (node === undefined) throw new ConsoleError(`there is no node ${name}; joulie node lists all`);
  const pods = objects.pods && (podsOfNodes(objects.pods).get(name) ?? []);
  const summary = summarizeNode(node, objects, pods, defaultReportSettings);
  const problems = findProblems(
    { ...objects, nodes: [node], pods: [], installation: undefined },
    defaultReportSettings,
    [summary],
  );
  const hardware = hardwareView(node, objects.hardware.get(name)?.status);
  const podRows = pods?.map((pod) => ({
    name: `${pod.metadata.namespace ?? "default"}/${pod.metadata.name}`,
    workloadClass: workloadClassOf(pod).workloadClass,
  }));
  return {
    text: () => {
      const print = new DetailsText(screen);
      print.line("NODE", name);
      print.line("CLASS", classText(summary, objects));
      if (summary.rack !== undefined) print.line("RACK", summary.rack);
      for (const { severity, what, meaning, command } of problems) {
        print.line(severity.toUpperCase(), `${what} ${meaning}`);
        print.line("", `-> ${advised(command, target)}`);
      }
      print.heading("HARDWARE");
      const { cpu, gpu } = hardware;
      print.line(
        "CPU",
        `${cpu.sockets} x ${cpu.model ?? "unknown model"}, ${cpu.totalCores ?? "?"} cores, up to ${powerText(cpu.maxWatts)}`,
      );
      if (gpu !== undefined)
        print.line("GPU", `${gpu.count} x ${gpu.model ?? "unknown model"}, up to ${powerText(gpu.maxWatts)} each`);
      const warnings = objects.hardware.get(name)?.status?.quality?.warnings ?? [];
      for (const warning of warnings.slice(0, 5)) print.line("warning", warning);
      if (objects.notListed?.includes("twins") === true) {
        print.heading("TARGET, TWIN, CONTROL");
        print.line("", `the twins are unknown: ${whyUnknown(objects, "twins")}`);
        if (summary.pin !== undefined) print.line("pin", pinText(summary.pin));
      } else printTwin(print, summary);
      const endpoint = objects.endpoints.get(name)?.status;
      if (endpoint !== undefined) {
        print.heading("POWER SWITCH");
        print.line(
          "state",
          `${endpoint.powerState ?? "unknown"}, wake ${endpoint.wakeProven === true ? "proven" : "not proven"}`,
        );
      }
      if (podRows === undefined) {
        print.heading("PODS");
        print.line("", `unknown: ${whyUnknown(objects, "pods")}`);
      } else printPods(print, podRows, name, target);
      print.heading("HISTORY");
      if (past === undefined) print.line("", `-> ${advised(`joulie node ${name}`, target)}`);
      else printPast(print, past, objects.now);
      return print.text;
    },
    value: () => ({ ...summary, hardware, problems, pods: podRows, ...past }),
    names: () => [`node/${name}`],
  };
}

/** `60 % (profile)`: a cap and the limit that it comes from. */
const limitedCapText = (cap: DeviceCap | undefined): string =>
  cap?.limit === undefined ? capText(cap) : `${capText(cap)} (${cap.limit})`;

function printTwin(print: DetailsText, summary: NodeSummary): void {
  print.heading("TARGET");
  print.line(
    "profile",
    `${summary.profile ?? "none yet"}${summary.draining ? ", draining" : ""} (${summary.policy ?? "no policy"})`,
  );
  print.line("caps", `CPU ${limitedCapText(summary.cpuCap)}, GPU ${limitedCapText(summary.gpuCap)}`);
  if (summary.pin !== undefined) print.line("pin", pinText(summary.pin));
  print.heading("TWIN");
  print.line(
    "power",
    `${powerText(summary.drawn)} of ${powerText(summary.budget)} allowed, ${percentText(summary.used)} (${sourceText(summary)})${trendText(summary)}`,
  );
  print.line("now", `cooling ${percentText(summary.cooling)}, PSU ${percentText(summary.psu)}`);
  print.line(
    "at the cap",
    `forecast: cooling ${percentText(summary.coolingAtCap)}, headroom ${percentText(summary.headroomAtCap)}, slowdown ${percentText(summary.slowdownPct)}`,
  );
  print.line(
    "updated",
    summary.twinAge === undefined ? "never" : `${ageText(summary.twinAge)} ago${summary.stale ? " (stale)" : ""}`,
  );
  print.heading("CONTROL");
  // The receipts of a node that is off are history: nothing is applied there.
  if (summary.powerState === "off") return print.line("", "the node is off; no cap is applied");
  if (summary.receipts.length === 0) print.line("", "the agent has reported nothing");
  for (const { device, result, backend, message, observedWatts, age } of summary.receipts) {
    const at = age === undefined ? "at an unknown time" : `${ageText(age)} ago`;
    print.line(
      device,
      `${result ?? "no result"} by ${backend ?? "no backend"} ${at}, reads ${powerText(observedWatts)}`,
    );
    if (message !== undefined && message !== "") print.line("", message);
  }
}

const PODS_LIMIT = 20;

function printPods(
  print: DetailsText,
  pods: readonly { readonly name: string; readonly workloadClass: string }[],
  node: string,
  target: AdvisingContext["target"],
): void {
  print.heading(`PODS (${pods.length})`);
  for (const pod of pods.slice(0, PODS_LIMIT)) print.line(pod.workloadClass, pod.name);
  const more = pods.length - PODS_LIMIT;
  const all = advised(`kubectl get pods -A --field-selector spec.nodeName=${node}`, target);
  if (more > 0) print.line("", `and ${more} more: ${all}`);
}

function printPast(print: DetailsText, { events, history }: NodePast, now: Instant): void {
  printHistory(print, history);
  const happened = [
    ...(events ?? []).map(({ at, reason, note }) => ({ at: Date.parse(at), text: `${reason}: ${note}` })),
    ...history.capChanges.slice(-CHANGES_LIMIT).map((change) => ({ at: change.at, text: capChangeText(change) })),
  ].toSorted((one, other) => other.at - one.at);
  if (events === undefined) print.line("", "Events are unknown: they cannot be listed; see joulie doctor");
  if (events?.length === 0) print.line("", "no Events of Joulie about this node in the last hour");
  for (const { at, text } of happened) print.line(`${ageText(between(instant(at), now))} ago`, text);
}

const CHANGES_LIMIT = 10;
const SPARK = 48;

function printHistory(print: DetailsText, { power, length, why }: NodeHistory): void {
  const known = power.filter((value) => value !== undefined);
  if (why !== undefined) return print.line("power", `caps and power over time are unknown: ${why}`);
  if (known.length === 0) return print.line("power", "the dashboard has no reading of it");
  const range = `${powerText(Math.min(...known))} to ${powerText(Math.max(...known))} in ${ageText(length)}`;
  print.line("power", `${sparkline(thinned(power, SPARK), SPARK).trimStart()} ${range}`);
}

/** At most so many values, evenly taken. */
const thinned = (values: readonly (number | undefined)[], limit: number): readonly (number | undefined)[] =>
  values.length <= limit
    ? values
    : Array.from({ length: limit }, (_, index) => values[Math.floor(((index + 1) * values.length) / limit) - 1]);

const capChangeText = ({ from, to, drawn }: PastCapChange): string =>
  `cap ${powerText(from)} → ${powerText(to)}${drawn === undefined ? "" : `, drew ${powerText(drawn)}`}`;

function classText(
  { schedulableClass, classSince, powerState, eligibility }: NodeSummary,
  { now }: ClusterObjects,
): string {
  const since = classSince === undefined ? "" : ` for ${ageText(between(classSince, now))}`;
  const state = powerState === "on" ? "" : `, power ${powerState}`;
  return `${schedulableClass}${since}${state}${eligibility === "eligible" ? "" : `, ${eligibility}`}`;
}

const pinText = ({ profile, until, expired }: NonNullable<NodeSummary["pin"]>): string =>
  until === undefined
    ? `${profile}, until joulie unpin`
    : `${profile}, ${expired ? "expired" : "until"} ${isoTime(until)}`;

const trendText = ({ trend }: NodeSummary): string =>
  trend === undefined || Math.round(trend) === 0
    ? ""
    : `, ${trend > 0 ? "rising" : "falling"} ${Math.abs(Math.round(trend))} W/min`;

const LABEL = 12;

class DetailsText {
  readonly #screen: Screen;
  text = "";

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  heading(name: string): void {
    this.text += `\n${paintFor(this.#screen).bold(name)}\n`;
  }

  line(label: string, text: string): void {
    const width = this.#screen.columns === undefined ? undefined : Math.max(20, this.#screen.columns - LABEL);
    wrap(text, width).forEach((line, index) => {
      this.text += `${cut(index === 0 ? label : "", LABEL - 1).padEnd(LABEL)}${line}`.trimEnd() + "\n";
    });
  }
}
