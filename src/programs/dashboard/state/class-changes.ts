import { type NodeTwin, pinnedPolicyName } from "../../../core/api/index.ts";
import type { Instant } from "../../../core/units/index.ts";
import type { ClassName, DecisionEntry } from "../wire.ts";

interface ClassFacts {
  readonly twin: NodeTwin | undefined;
  readonly performancePods: number | undefined;
}

const reasons: Readonly<Record<ClassName, (facts: ClassFacts) => string>> = {
  performance: ({ twin }) => withPolicy("full power for performance pods", twin),
  eco: ({ twin }) => {
    const { cpuPct, gpuPct } = twin?.status?.effectiveCapState ?? {};
    const caps = [capText("CPU", cpuPct), capText("GPU", gpuPct)].filter((text) => text !== undefined);
    const text = caps.length === 0 ? "runs with caps to save energy" : `capped to save energy: ${caps.join(", ")}`;
    return withPolicy(text, twin);
  },
  draining: ({ twin, performancePods: count }) =>
    count === 0
      ? withPolicy("changes to eco in the next pass", twin)
      : `waiting for ${count ?? "its"} performance ${count === 1 ? "pod" : "pods"}, nothing is evicted`,
  asleep: ({ twin }) => {
    const { reason, state } = twin?.spec.power ?? {};
    return reason ?? (state === "off" ? "the operator wants it off" : "it is on its way back");
  },
  unknown: ({ twin }) =>
    twin === undefined ? "it has no NodeTwin: Joulie does not manage it" : "the operator has not published a class",
};

/** Why a node is in its class, in words, from what its twin says. */
export const classReasonOf = (to: ClassName, twin: NodeTwin | undefined, performancePods: number | undefined): string =>
  reasons[to]({ twin, performancePods });

function withPolicy(text: string, twin: NodeTwin | undefined): string {
  const policy = twin?.spec.policy?.name;
  if (policy === undefined) return text;
  return `${text} (${policy === pinnedPolicyName ? "a user's NodePowerProfile pins it" : `policy ${policy}`})`;
}

const capText = (device: string, share: number | undefined): string | undefined =>
  share === undefined || share >= 100 ? undefined : `${device} at ${Math.round(share)} % of its maximum`;

type NewDecision = Omit<DecisionEntry, "id">;

export class ClassChangeLog {
  readonly #entries: DecisionEntry[] = [];
  readonly #limit: number;
  #next = 1;
  #fresh: DecisionEntry[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  get entries(): readonly DecisionEntry[] {
    return this.#entries;
  }

  add(decision: NewDecision): void {
    const entry = { id: this.#next++, ...decision };
    this.#entries.push(entry);
    if (this.#entries.length > this.#limit) this.#entries.shift();
    this.#fresh.push(entry);
    if (this.#fresh.length > this.#limit) this.#fresh.shift();
  }

  takeFresh(): readonly DecisionEntry[] {
    const fresh = this.#fresh;
    this.#fresh = [];
    return fresh;
  }
}

export function classChange(
  name: string,
  from: ClassName | undefined,
  to: ClassName,
  facts: { readonly at: Instant; readonly twin: NodeTwin | undefined; readonly performancePods: number | undefined },
): NewDecision | undefined {
  if (from === undefined || from === to || from === "unknown") return undefined;
  const { at, twin, performancePods } = facts;
  return {
    at,
    kind: "class",
    subject: name,
    node: name,
    text: `${from} → ${to}`,
    reason: classReasonOf(to, twin, performancePods),
  };
}
