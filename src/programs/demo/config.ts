import type * as z from "zod";
import { policyTypes } from "../../core/policy/index.ts";
import { DEFAULT_PRESET, presetNames, presetVariables } from "../../core/presets/index.ts";
import { choice, configOf, duration, flag, flagsOnly, group, integer, number } from "../../platform/config/index.ts";
import { logLevels } from "../../platform/log/index.ts";

/** Nodes times speed that 2 cores serve with some reserve: the load grows with both. */
const NODE_SPEED = 2400;
const DEFAULT_SPEED = 60;

export const demoConfig = configOf({
  ...flagsOnly("The demo", {
    NODES: integer({ min: 2, max: 10_000, default: "40", about: "Number of simulated nodes." }),
    PRESET: choice(presetNames, {
      derived: {
        text: "energy-sleep, or partition with --policy",
        from: ({ POLICY }) => (POLICY === undefined ? "energy-sleep" : DEFAULT_PRESET),
      },
      about: "What the installation is for. Nodes of a real cluster do not sleep.",
    }),
    POLICY: choice(policyTypes, { about: "The operator's policy instead of the preset's." }),
    SPEED: number({
      above: 0,
      max: 600,
      about:
        "Simulated seconds per real second; unset = 60, and a large cluster begins slower. Lowered while this machine cannot keep up.",
    }),
    DURATION: duration({ about: "Duration of the demo in real time; unset = until q or Ctrl-C." }),
    DASHBOARD_PORT: integer({
      min: 1,
      max: 65_535,
      default: "8090",
      about: "Port of the dashboard on this machine; if it is taken, any free one.",
    }),
    JSON: flag({ default: "false", about: "Prints one JSON object at the end and nothing else to standard output." }),
    SEED: integer({
      min: 0,
      max: Number.MAX_SAFE_INTEGER,
      default: "1",
      about: "The same seed gives the same nodes and jobs.",
    }),
  }),
  ...group("Log lines", {
    LOG_LEVEL: choice(logLevels, {
      about: "Prints the programs' log lines of this level and above to standard error; unset = to a file.",
    }),
  }),
});

export type DemoConfig = z.output<typeof demoConfig>;

/** The operator's policy that the demo runs with. */
export const policyOf = ({ POLICY, PRESET }: Pick<DemoConfig, "POLICY" | "PRESET">): string =>
  POLICY ?? presetVariables(PRESET, "operator")["POLICY_TYPE"] ?? "static_partition";

/** What the demo runs with, in a word. */
export const titleOf = ({ POLICY, PRESET }: Pick<DemoConfig, "POLICY" | "PRESET">): string => POLICY ?? PRESET;

/** The speed that the demo tries to reach. */
export const wantedSpeed = ({ SPEED }: Pick<DemoConfig, "SPEED">): number => SPEED ?? DEFAULT_SPEED;

/** The speed of the first minute. */
export const firstSpeed = ({ SPEED, NODES }: Pick<DemoConfig, "SPEED" | "NODES">): number =>
  SPEED ?? Math.min(DEFAULT_SPEED, Math.max(1, Math.floor(NODE_SPEED / NODES)));
