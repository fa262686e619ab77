import { annotations } from "../api/index.ts";
import type { PresetSettings } from "../presets/index.ts";
import type { Installation, InstalledWorkload } from "./cluster-objects.ts";
import type { ClusterProblem } from "./problem.ts";

type Configured = InstalledWorkload & { readonly settings: PresetSettings };

/** A combination of settings that makes no sense. */
interface Mismatch {
  readonly what: string;
  readonly meaning: string;
}

/** One problem for each combination of presets and variables that the programs should not have together. */
export function presetProblems({ programs, namespace }: Installation): ClusterProblem[] {
  const configured = programs.filter((program): program is Configured => program.settings !== undefined);
  const installed = new Set(configured.map(({ settings }) => settings.preset));
  const mismatches = installed.size > 1 ? [differentPresets(configured)] : mismatchesOf(configured);
  return mismatches.map(({ what, meaning }) => ({
    id: "settings-mismatch",
    severity: "warning",
    subject: "installation",
    nodes: [],
    what,
    meaning,
    command: `helm upgrade joulie CHART --namespace ${namespace} --reset-then-reuse-values --set preset=PRESET,mode=,sleep.mode=`,
  }));
}

const differentPresets = (programs: readonly Configured[]): Mismatch => ({
  what: `Programs have different presets: ${programs.map(({ name, settings }) => `${name} ${settings.preset}`).join(", ")}.`,
  meaning: "They may work against each other. The chart gives all of them one preset.",
});

function mismatchesOf(programs: readonly Configured[]): Mismatch[] {
  const valueOf = (program: string, variable: string): string | undefined =>
    programs.find((one) => one.program === program)?.settings.values[variable];
  const [policy, bound, sleep] = ["POLICY_TYPE", "ECO_MAX_SLOWDOWN_PCT", "SLEEP_MODE"].map((name) =>
    valueOf("operator", name),
  );
  const observes = valueOf("agent", "SIMULATE_ONLY") === "true";
  const placesByJoules = valueOf("extender", "SCORING") === "energy";
  const hasExtender = programs.some(({ program }) => program === "extender");
  const found: Mismatch[] = [];
  if (observes && sleep === "on")
    found.push({
      what: "Agents only observe (SIMULATE_ONLY=true), but idle machines are switched off (SLEEP_MODE=on).",
      meaning: `An installation that observes switches nothing off. The annotation ${annotations.stop} stops both.`,
    });
  if (hasExtender && sleep === "on" && !placesByJoules)
    found.push({
      what: "Nodes may sleep (SLEEP_MODE=on), but the extender spreads pods (SCORING=headroom).",
      meaning: "Few nodes become empty, so few fall asleep. SCORING=energy fills nodes first.",
    });
  if (policy === "fit_aware_v1" && bound === undefined && !observes)
    found.push({
      what: "POLICY_TYPE=fit_aware_v1 has no ECO_MAX_SLOWDOWN_PCT.",
      meaning: "Almost all nodes get flat caps, under which some work takes half as long again.",
    });
  return found;
}

/** The preset of the installation and what single variables override, in words; undefined if no program has a preset. */
export function presetText({ programs }: Installation): string | undefined {
  const configured = programs.filter((program): program is Configured => program.settings !== undefined);
  if (configured.length === 0) return undefined;
  const names = Array.from(new Set(configured.map(({ settings }) => settings.preset))).join(" and ");
  const overrides = configured.flatMap(({ program, settings }) =>
    settings.overrides.map(
      ({ variable, value, byPreset }) =>
        `${program} ${variable}=${value}${byPreset === undefined ? "" : ` (preset: ${byPreset})`}`,
    ),
  );
  return overrides.length === 0 ? names : `${names}, overridden: ${Array.from(new Set(overrides)).join(", ")}`;
}
