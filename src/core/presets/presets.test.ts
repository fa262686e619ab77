import { describe, expect, it } from "vitest";
import { presetSettings } from "./presets.ts";

describe("presetSettings", () => {
  it("PRE-04 names what a program's own variables override, and what the preset would set", () => {
    const environment = {
      PRESET: "energy",
      FIT_RESERVE: "0.9",
      POLICY_TYPE: "fit_aware_v1",
      SLEEP_MODE: "on",
      NODES: "3",
    };
    expect(presetSettings("operator", environment)).toEqual({
      preset: "energy",
      values: { POLICY_TYPE: "fit_aware_v1", FIT_RESERVE: "0.9", ECO_MAX_SLOWDOWN_PCT: "50", SLEEP_MODE: "on" },
      overrides: [
        { variable: "FIT_RESERVE", value: "0.9", byPreset: "1" },
        { variable: "SLEEP_MODE", value: "on", byPreset: undefined },
      ],
    });
  });

  it("takes an empty variable for one that is not set", () => {
    expect(presetSettings("agent", { PRESET: "observe", SIMULATE_ONLY: " " })).toEqual({
      preset: "observe",
      values: { SIMULATE_ONLY: "true" },
      overrides: [],
    });
  });

  it("knows nothing of a program without a preset", () => {
    expect(presetSettings("operator", { POLICY_TYPE: "fit_aware_v1" })).toBeUndefined();
  });

  it("sets nothing for a preset that a later version may have", () => {
    expect(presetSettings("operator", { PRESET: "later" })).toEqual({ preset: "later", values: {}, overrides: [] });
  });
});
