// The safety rules, which hold at every moment whatever fails. Checks a recorded history of the cluster.
import { labels } from "../../src/core/api/index.ts";
import type { SpecWrite } from "./tapped-transport.ts";
import type { Version, WitnessedObject } from "./witness.ts";

export interface Verdict {
  /** One sentence for each violation of a rule. */
  readonly broken: readonly string[];
  /** Number of lowered caps: a history without any proves nothing. */
  readonly lowered: number;
  /** Number of times a node was published as draining, because of running pods. */
  readonly drained: number;
}

export interface Circumstances {
  /** Writes of the operators under test. For a cap lowered by another writer, the check assumes that it had seen all pods. */
  readonly writes: readonly SpecWrite[];
  /** Nodes whose labels and targets another writer also changes, so the operator does not control the order there. */
  readonly contested?: readonly string[];
  /** Versions written by another client. */
  readonly foreign?: ReadonlySet<number>;
}

interface Twin {
  readonly profile: string | undefined;
  readonly class: string | undefined;
  readonly eco: boolean;
}

export function judge(history: readonly Version[], circumstances: Circumstances): Verdict {
  const { writes, contested = [], foreign = new Set() } = circumstances;
  const nodes = new Map<string, { profile: string | undefined; draining: string | undefined }>();
  const twins = new Map<string, Twin>();
  const broken: string[] = [];
  let lowered = 0;
  let drained = 0;

  for (const { kind, name, version, object } of history) {
    const rule = (holds: boolean, says: string) => {
      if (!holds) broken.push(`${name} at ${version}: ${says}`);
    };
    const ordered = !contested.includes(name) && !foreign.has(version);
    const before = twins.get(name);
    const node = nodes.get(name);
    if (kind === "nodes") {
      const own = object?.metadata.labels ?? {};
      const now = { profile: own[labels.powerProfile], draining: own[labels.draining] };
      if (ordered && now.profile === "performance" && node?.profile !== "performance") {
        rule(before?.eco === false, "label performance under eco caps");
        rule(before?.class === "performance", "label performance before class performance");
      }
      nodes.set(name, now);
    } else if (kind === "twins") {
      const now = twinOf(object);
      if (now.eco && before?.eco !== true && !foreign.has(version)) {
        lowered++;
        const seen = writtenAs(writes, name, version)?.podsSeen ?? version;
        const there = performancePodsAt(history, name, seen);
        rule(there.length === 0, `eco caps although ${there.join(", ")} had been seen by ${seen}`);
        if (ordered) {
          rule(before?.class === "eco", `eco caps before class eco (${before?.class})`);
          rule(
            node?.profile === "eco" && node.draining === "false",
            `eco caps before labels (${JSON.stringify(node)})`,
          );
        }
      }
      if (now.class === "draining" && before?.class !== "draining") drained++;
      if (ordered && now.class === "performance" && before?.class !== "performance") {
        rule(!now.eco && now.profile === "performance", "class performance before its caps");
      }
      if (ordered && now.profile === "eco" && before?.profile === "performance") {
        rule(before.class === "eco" || before.class === "draining", `spec eco before its class (${before.class})`);
        rule(node?.profile === "eco", "spec eco before its label");
      }
      twins.set(name, now);
    }
  }
  return { broken, lowered, drained };
}

/** The write that produced this version; if its response was lost, the first write that may have. */
function writtenAs(writes: readonly SpecWrite[], node: string, version: number): SpecWrite | undefined {
  const own = writes.filter((write) => write.node === node && isEcoCap(write.cap));
  return own.find((write) => write.version === version) ?? own.find((write) => write.version === undefined);
}

/** The active performance pods of a node as of a version. */
function performancePodsAt(history: readonly Version[], node: string, version: number): string[] {
  const there = new Set<string>();
  for (const { kind, name, version: at, object } of history) {
    if (at > version) break;
    if (kind !== "pods") continue;
    there.delete(name);
    const isPerformance = object?.metadata.annotations?.["joulie.io/workload-class"] === "performance";
    const isOver = object?.status?.["phase"] === "Succeeded" || object?.status?.["phase"] === "Failed";
    if (isPerformance && !isOver && object.spec?.["nodeName"] === node) there.add(name);
  }
  return [...there];
}

function twinOf(object: WitnessedObject | undefined): Twin {
  const spec = object?.spec as { profile?: string; cpu?: { packagePowerCapPctOfMax?: number } } | undefined;
  const status = object?.status as { schedulableClass?: string } | undefined;
  return {
    profile: spec?.profile,
    class: status?.schedulableClass,
    eco: isEcoCap(spec?.cpu?.packagePowerCapPctOfMax),
  };
}

const isEcoCap = (cap: number | undefined): boolean => cap !== undefined && cap < 100;
