// One value that sets all programs, so that they agree. The chart, `--print-config`, the reference and the guides are made from
// this table.

/** What the programs that have a preset are called on the command line and in the chart. */
export type PresetProgram = "operator" | "agent" | "extender";

export interface Preset {
  readonly about: string;
  /** The variables that it sets, by program. All others have their defaults. */
  readonly sets: Readonly<Partial<Record<PresetProgram, Readonly<Record<string, string>>>>>;
}

/**
 * Longest slowdown of compute-bound work at full load under an eco cap. The jobs of the simulated clusters slow down by at most
 * 13 % and by 1 % on average with it; tighter bounds lie above what most boards draw, and wider ones save nothing more.
 */
const MAX_SLOWDOWN_PCT = "50";

/** Performance where it is needed, with a full reserve: an empty node draws the same power with and without caps. */
const PLANS_BY_NEED = {
  POLICY_TYPE: "fit_aware_v1",
  FIT_RESERVE: "1",
  ECO_MAX_SLOWDOWN_PCT: MAX_SLOWDOWN_PCT,
} as const;
const SCORES_JOULES = { SCORING: "energy" } as const;

/** From the most careful to the one that saves most. */
export const presets = {
  observe: {
    about: "Measures, and plans what `energy` would do. Sets no cap and switches no machine off.",
    sets: { operator: PLANS_BY_NEED, agent: { SIMULATE_ONLY: "true" } },
  },
  partition: {
    about: "Half of the nodes run at full performance, the others are capped at 60 % of their maximum.",
    sets: {},
  },
  energy: {
    about:
      "Pods are placed by the joules they add. Nodes that run performance pods have no caps, all others have bounded ones.",
    sets: { operator: PLANS_BY_NEED, extender: SCORES_JOULES },
  },
  "energy-sleep": {
    about: "As `energy`, and idle nodes that may sleep are switched off.",
    sets: {
      operator: { ...PLANS_BY_NEED, SLEEP_MODE: "on" },
      extender: { ...SCORES_JOULES, SLEEP_MODE: "on" },
    },
  },
} as const satisfies Readonly<Record<string, Preset>>;

export type PresetName = keyof typeof presets;
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a constant
export const presetNames = Object.keys(presets) as [PresetName, ...PresetName[]];

/** A program without a preset runs with the documented default of each variable. */
export const DEFAULT_PRESET: PresetName = "partition";

export const isPresetName = (name: string): name is PresetName => Object.hasOwn(presets, name);

/** The variables that a preset sets for a program. */
export function presetVariables(name: string, program: string): Readonly<Record<string, string>> {
  if (!isPresetName(name)) return {};
  const sets: Readonly<Record<string, Readonly<Record<string, string>>>> = presets[name].sets;
  return sets[program] ?? {};
}

/** What presets decide about a program, as it runs. */
export interface PresetSettings {
  readonly preset: string;
  /** The value of each variable that some preset sets for the program; absent = its default. */
  readonly values: Readonly<Record<string, string>>;
  /** Those that the program's own variables set to another value. */
  readonly overrides: readonly PresetOverride[];
}

export interface PresetOverride {
  readonly variable: string;
  readonly value: string;
  /** Undefined: the default of the variable. */
  readonly byPreset: string | undefined;
}

/** Reads the environment of a program. Undefined for a program without presets, and for one of an earlier version. */
export function presetSettings(
  program: string,
  environment: Readonly<Record<string, string>>,
): PresetSettings | undefined {
  const { PRESET: name } = environment;
  if (name === undefined) return undefined;
  const byPreset = presetVariables(name, program);
  const decided = new Set(presetNames.flatMap((one) => Object.keys(presetVariables(one, program))));
  const values: Record<string, string> = { ...byPreset };
  const overrides: PresetOverride[] = [];
  for (const variable of decided) {
    const value = environment[variable]?.trim();
    if (value === undefined || value === "" || value === byPreset[variable]) continue;
    values[variable] = value;
    overrides.push({ variable, value, byPreset: byPreset[variable] });
  }
  return { preset: name, values, overrides };
}
