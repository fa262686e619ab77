import { describe, expect, it } from "vitest";
import { type PresetName, presetNames, presets } from "../core/presets/index.ts";
import { type ConfigSchema, parseConfig, type RawValues } from "../platform/config/index.ts";
import { agentConfig } from "./agent/config.ts";
import { extenderConfig } from "./extender/config.ts";
import { operatorConfig } from "./operator/config.ts";

function parsed<Config extends ConfigSchema>(config: Config, env: RawValues) {
  const result = parseConfig(config, { env, flags: {}, machine: { isTerminal: false, exists: () => false } });
  if (!result.ok) throw new Error(result.error.problems.map(({ message }) => message).join("; "));
  return result.value;
}

const programsWith = (preset: PresetName, env: RawValues = {}) => ({
  operator: parsed(operatorConfig, { ...env, PRESET: preset }),
  agent: parsed(agentConfig, { ...env, PRESET: preset }),
  extender: parsed(extenderConfig, { ...env, PRESET: preset }),
});

/** What the programs must agree on, by hand. */
const expected = {
  observe: { policy: "fit_aware_v1", bound: 50, reserve: 1, observes: true, scoring: "headroom", sleep: "off" },
  partition: {
    policy: "static_partition",
    bound: undefined,
    reserve: 0.9,
    observes: false,
    scoring: "headroom",
    sleep: "off",
  },
  energy: { policy: "fit_aware_v1", bound: 50, reserve: 1, observes: false, scoring: "energy", sleep: "off" },
  "energy-sleep": { policy: "fit_aware_v1", bound: 50, reserve: 1, observes: false, scoring: "energy", sleep: "on" },
} satisfies Record<PresetName, object>;

describe.each(presetNames)("the preset %s", (name) => {
  it("PRE-01 lets operator, agent and extender agree", () => {
    const { operator, agent, extender } = programsWith(name);
    expect({
      policy: operator.values.POLICY_TYPE,
      bound: operator.values.ECO_MAX_SLOWDOWN_PCT,
      reserve: operator.values.FIT_RESERVE,
      observes: agent.values.SIMULATE_ONLY,
      scoring: extender.values.SCORING,
      sleep: operator.values.SLEEP_MODE,
    }).toEqual(expected[name]);
    expect(extender.values.SLEEP_MODE).toBe(operator.values.SLEEP_MODE);
  });

  it("PRE-02 sets variables that the programs have, and names itself as their source", () => {
    const programs = programsWith(name);
    for (const [program, variables] of Object.entries(presets[name].sets))
      for (const variable of Object.keys(variables))
        expect([variable, programs[program as keyof typeof programs].sources[variable]]).toEqual([variable, "preset"]);
  });

  it("PRE-03 gives way to a variable of the program", () => {
    const env = { POLICY_TYPE: "rule_swap_v1", SIMULATE_ONLY: "false", SCORING: "headroom", SLEEP_MODE: "recommend" };
    const { operator, agent, extender } = programsWith(name, env);
    expect(operator.values).toMatchObject({ POLICY_TYPE: "rule_swap_v1", SLEEP_MODE: "recommend" });
    expect(agent.values.SIMULATE_ONLY).toBe(false);
    expect(extender.values).toMatchObject({ SCORING: "headroom", SLEEP_MODE: "recommend" });
  });
});

it("PRE-01 rejects a preset that does not exist, and names those that do", () => {
  expect(() => programsWith("full" as PresetName)).toThrow(
    'PRESET="full" is none of the choices; allowed: observe, partition, energy, energy-sleep',
  );
});
