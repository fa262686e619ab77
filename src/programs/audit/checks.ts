import type { Milliseconds } from "../../core/units/index.ts";
import type { CapAuditResult } from "./cap-audit.ts";
import type { DrainCounts, SleepCounts } from "./state-history.ts";
import type { WakeWaitFigures } from "./wake-waits.ts";

/** One property of a run, with the figures behind the verdict. */
export interface ClusterCheck {
  readonly name: string;
  readonly ok: boolean;
  /** Explains a limited verdict, for example that an event was never seen. */
  readonly note?: string;
  readonly figures: Readonly<Record<string, unknown>>;
}

export interface TwinCounts {
  readonly nodes: number;
  readonly twins: number;
  /** All, while Joulie is stopped: then no twin is due. */
  readonly fresh: number;
  /** Age of the oldest twin that is due, in simulated time. */
  readonly oldest: Milliseconds | undefined;
}

interface BindingCounts {
  readonly pods: number;
  readonly performancePods: number;
  readonly toMachinesOff: number;
  readonly examples: readonly string[];
}

export interface CheckInputs {
  /** Events that a run of this length and size must show. In shorter or smaller runs their absence is no failure. */
  readonly expected: {
    readonly twins: boolean;
    /** Undefined: the policy plans no drains, because it changes a node only when it is ready. */
    readonly drains: boolean | undefined;
    readonly figures: boolean;
    /** At least one observation of each kind; false if the user ended the run. */
    readonly any: boolean;
    readonly sleep: boolean | undefined;
  };
  readonly twins: TwinCounts;
  readonly drains: DrainCounts;
  readonly sleeps: SleepCounts;
  readonly bindings: BindingCounts;
  readonly wakeWaits: WakeWaitFigures;
  readonly offences: { readonly pods: number; readonly podSeconds: number; readonly examples: readonly string[] };
  readonly caps: CapAuditResult;
  /** Agents only observe. */
  readonly observes?: boolean | undefined;
}

export const evaluateChecks = (found: CheckInputs): readonly ClusterCheck[] => [
  twinsCheck(found),
  ...drainChecks(found),
  check("no performance pod ran under eco caps", found.offences.pods === 0, found.offences, {
    // Without an eco node no pod can run under eco caps.
    happened: found.bindings.performancePods > 0 && found.caps.eco > 0,
    expected: found.expected.figures || (found.expected.any && found.bindings.performancePods === 0),
  }),
  check(
    found.observes ? "no cap is in force" : "caps in force are the published ones",
    found.caps.different === 0,
    found.caps,
    {
      happened: found.caps.eco > 0,
      expected: found.expected.figures || (found.expected.any && found.caps.compared === 0),
    },
  ),
  ...sleepChecks(found),
];

const drainChecks = ({ drains, expected }: CheckInputs): readonly ClusterCheck[] =>
  expected.drains === undefined
    ? []
    : [
        check("a drain was deferred and later completed", true, drains, {
          happened: drains.deferred > 0 && drains.completed > 0,
          expected: expected.drains,
        }),
      ];

function sleepChecks({ bindings, sleeps, wakeWaits, expected }: CheckInputs): readonly ClusterCheck[] {
  if (expected.sleep === undefined) return [];
  const occasion = { happened: sleeps.sleeps > 0 && sleeps.wakes > 0, expected: expected.sleep };
  return [
    check("no pod was bound to a sleeping node", bindings.toMachinesOff === 0, { ...bindings, ...sleeps }, occasion),
    check("no performance pod waited longer for a wake than stated", wakeWaits.late === 0, wakeWaits, occasion),
  ];
}

/** Whether the event was observed, and whether it had to be. */
interface Occasion {
  readonly happened: boolean;
  readonly expected: boolean;
}

function check(name: string, holds: boolean, figures: object, { happened, expected }: Occasion): ClusterCheck {
  return {
    name,
    ok: holds && (happened || !expected),
    ...(!happened && {
      note: expected ? "never seen" : "not seen in a run this short or small",
    }),
    figures: { ...figures },
  };
}

function twinsCheck({ twins, expected }: CheckInputs): ClusterCheck {
  const all = twins.fresh === twins.nodes;
  const occasion = { happened: all || expected.twins, expected: expected.twins };
  return check("every node has a fresh twin", all || !expected.twins, twins, occasion);
}
