import { workloadClassOf } from "../../core/demand/index.ts";
import { hardwareView } from "../../core/inventory/index.ts";
import {
  ageText,
  type ClusterObjects,
  defaultReportSettings,
  findProblems,
  type NodeSummary,
  podsOfNodes,
  summarizeNode,
} from "../../core/report/index.ts";
import { between, instant } from "../../core/units/index.ts";
import { type KubeClient, type KubeObject, resources } from "../../platform/kube/index.ts";
import { ConsoleError, type Screen } from "./context.ts";
import { capText } from "./node-list.ts";
import type { Printable } from "./output.ts";
import { cut, paintFor, percentText, powerText, wrap } from "./screen.ts";

/** An Event about the node. */
export interface NodeEvent {
  readonly at: string;
  readonly reason: string;
  readonly note: string;
}

type EventObject = KubeObject & {
  readonly metadata: { readonly creationTimestamp?: string };
  readonly regarding?: { readonly kind?: string; readonly name?: string };
  readonly reason?: string;
  readonly note?: string;
  readonly eventTime?: string;
  readonly reportingController?: string;
  readonly series?: { readonly lastObservedTime?: string };
};

const MOST_EVENTS = 10;
/** Events about cluster-scoped objects are in this namespace. */
const EVENT_NAMESPACE = "default";

/** Joulie's last Events about the node, the newest first; none if they cannot be read. */
export async function eventsOf(client: KubeClient, node: string): Promise<readonly NodeEvent[]> {
  try {
    const { items } = await client.listAll<EventObject>(resources.events, { namespace: EVENT_NAMESPACE });
    return items
      .filter(
        ({ regarding, reportingController = "" }) => regarding?.name === node && reportingController.includes("joulie"),
      )
      .map((event) => ({
        at: event.series?.lastObservedTime ?? event.eventTime ?? event.metadata.creationTimestamp ?? "",
        reason: event.reason ?? "",
        note: event.note ?? "",
      }))
      .toSorted((one, other) => (one.at > other.at ? -1 : 1))
      .slice(0, MOST_EVENTS);
  } catch {
    return [];
  }
}

/** `joulie node NAME`. */
export function nodeDetailsOf(
  name: string,
  objects: ClusterObjects,
  events: readonly NodeEvent[],
  screen: Screen,
): Printable {
  const node = objects.nodes.find(({ metadata }) => metadata.name === name);
  if (node === undefined) throw new ConsoleError(`there is no node ${name}; joulie node lists all`);
  const pods = podsOfNodes(objects.pods).get(name) ?? [];
  const summary = summarizeNode(node, objects, pods, defaultReportSettings);
  const problems = findProblems(
    { ...objects, nodes: [node], pods: [], installation: undefined },
    defaultReportSettings,
    [summary],
  );
  const hardware = hardwareView(node, objects.hardware.get(name)?.status);
  const podRows = pods.map((pod) => ({
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
        print.line("", `-> ${command}`);
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
      print.heading("TARGET");
      print.line(
        "profile",
        `${summary.profile ?? "none yet"}${summary.draining ? ", draining" : ""} (${summary.policy ?? "no policy"})`,
      );
      print.line("caps", `CPU ${capText(summary.cpuCap)}, GPU ${capText(summary.gpuCap)}`);
      if (summary.pin !== undefined) print.line("pin", pinText(summary.pin));
      print.heading("TWIN");
      print.line(
        "power",
        `${powerText(summary.drawn)} of ${powerText(summary.budget)} (${summary.source ?? "no source"})${trendText(summary)}`,
      );
      print.line(
        "headroom",
        `${percentText(summary.headroom)}, cooling ${percentText(summary.cooling)}, PSU ${percentText(summary.psu)}, slowdown ${percentText(summary.slowdownPct)}`,
      );
      print.line(
        "updated",
        summary.twinAge === undefined ? "never" : `${ageText(summary.twinAge)} ago${summary.stale ? " (stale)" : ""}`,
      );
      print.heading("CONTROL");
      if (summary.receipts.length === 0) print.line("", "the agent has reported nothing");
      for (const { device, result, backend, message, observedWatts, age } of summary.receipts) {
        const at = age === undefined ? "at an unknown time" : `${ageText(age)} ago`;
        print.line(
          device,
          `${result ?? "no result"} by ${backend ?? "no backend"} ${at}, reads ${powerText(observedWatts)}`,
        );
        if (message !== undefined && message !== "") print.line("", message);
      }
      const endpoint = objects.endpoints.get(name)?.status;
      if (endpoint !== undefined) {
        print.heading("POWER SWITCH");
        print.line(
          "state",
          `${endpoint.powerState ?? "unknown"}, wake ${endpoint.wakeProven === true ? "proven" : "not proven"}`,
        );
      }
      print.heading(`PODS (${pods.length})`);
      for (const pod of podRows.slice(0, 20)) print.line(pod.workloadClass, pod.name);
      if (podRows.length > 20)
        print.line("", `and ${podRows.length - 20} more: kubectl get pods -A --field-selector spec.nodeName=${name}`);
      print.heading("HISTORY");
      if (events.length === 0) print.line("", "no Events of Joulie about this node in the last hour");
      for (const { at, reason, note } of events) {
        const age = ageText(between(instant(Date.parse(at)), objects.now));
        print.line(`${age} ago`, `${reason}: ${note}`);
      }
      return print.text;
    },
    value: () => ({ ...summary, hardware, problems, pods: podRows, events }),
    names: () => [`node/${name}`],
  };
}

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
    : `${profile}, ${expired ? "expired" : "until"} ${new Date(until).toISOString()}`;

const trendText = ({ trend }: NodeSummary): string =>
  trend === undefined || Math.round(trend) === 0
    ? ""
    : `, ${trend > 0 ? "rising" : "falling"} ${Math.abs(Math.round(trend))} W/min`;

const LABEL = 12;

/** Lines of a label and a text that is wrapped beside it. */
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
