import type { PolicyType } from "../../core/policy/index.ts";
import { type PresetName, presets } from "../../core/presets/index.ts";

/** Placement methods: bin-packing, spreading, kube-scheduler's defaults, and the production code. */
export const arms = ["most", "least", "kube", "joulie", "energy"] as const;

/** Operator policies; `none` = no node is ever capped. */
const policies = ["queue_aware_v1", "static_partition", "fit_aware_v1", "none"] as const satisfies readonly (
  | PolicyType
  | "none"
)[];
export type PolicyName = (typeof policies)[number];

/** Default policy of the joulie arm. An installed operator defaults to static_partition. */
const DEFAULT_POLICY: PolicyName = "queue_aware_v1";

/** The policy that goes with SCORING=energy. */
const ENERGY_POLICY = presets.energy.sets.operator.POLICY_TYPE satisfies PolicyName;

/** An arm and a policy that are run and compared. */
export interface Contender {
  /** One of `arms`; the published experiment has its own. */
  readonly arm: string;
  readonly policy: PolicyName;
  /** Empty nodes are switched off. */
  readonly sleep?: true;
}

const SLEEP = "+sleep";

/** What an installation with a preset runs. With the preset observe it changes nothing. */
const presetContenders: Readonly<Record<Exclude<PresetName, "observe">, Contender>> = {
  partition: { arm: "joulie", policy: "static_partition" },
  energy: { arm: "energy", policy: ENERGY_POLICY },
  "energy-sleep": { arm: "energy", policy: ENERGY_POLICY, sleep: true },
};

export const presetArms = Object.keys(presetContenders);

export const CONTENDER = `a preset (${presetArms.join(", ")}), ARM, ARM${SLEEP} or either with :POLICY, ARM one of ${arms.join(", ")}, POLICY one of ${policies.join(", ")}`;

/** Parses `energy-sleep`, `joulie`, `least:static_partition` or `kube+sleep`. Only the arms joulie and energy have caps by default. */
export function parseContender(text: string): Contender | undefined {
  const [, byPreset] = Object.entries(presetContenders).find(([name]) => name === text.trim()) ?? [];
  if (byPreset !== undefined) return byPreset;
  const [armText = "", policyText, ...rest] = text.trim().split(":");
  const sleeps = armText.endsWith(SLEEP);
  const name = sleeps ? armText.slice(0, -SLEEP.length) : armText;
  const arm = arms.find((candidate) => candidate === name);
  let byDefault: PolicyName = "none";
  if (arm === "joulie") byDefault = DEFAULT_POLICY;
  if (arm === "energy") byDefault = ENERGY_POLICY;
  const policy = policyText === undefined ? byDefault : policies.find((candidate) => candidate === policyText);
  if (arm === undefined || policy === undefined || rest.length > 0) return undefined;
  return { arm, policy, ...(sleeps && { sleep: true }) };
}

/**
 * The name of a preset, or the arm and its policy. The policy is omitted for arms without an operator. The arms joulie and energy
 * always have one: with policy none it publishes twins but sets no caps.
 */
export function contenderName({ arm, policy, sleep }: Contender): string {
  const [preset] =
    Object.entries(presetContenders).find(
      ([, one]) => one.arm === arm && one.policy === policy && one.sleep === sleep,
    ) ?? [];
  if (preset !== undefined) return preset;
  const name = sleep === true ? `${arm}${SLEEP}` : arm;
  return policy === "none" && arm !== "joulie" && arm !== "energy" ? name : `${name}:${policy}`;
}
