import { describe, expect, it } from "vitest";
import { presetSettings } from "../presets/index.ts";
import type { Installation, InstalledWorkload } from "./cluster-objects.ts";
import { presetProblems, presetText } from "./preset-problems.ts";

const program = (name: string, environment: Readonly<Record<string, string>>): InstalledWorkload => ({
  program: name,
  kind: "Deployment",
  name: `joulie-${name}`,
  desired: 1,
  ready: 1,
  version: "1",
  settings: presetSettings(name, environment),
});

const installed = (environments: Readonly<Record<string, Readonly<Record<string, string>>>>): Installation => ({
  namespace: "joulie-system",
  stopped: false,
  missingKinds: [],
  unreadable: [],
  programs: Object.entries(environments).map(([name, environment]) => program(name, environment)),
});

const all = (preset: string, own: Readonly<Record<string, Readonly<Record<string, string>>>> = {}) =>
  installed(
    Object.fromEntries(["operator", "agent", "extender"].map((name) => [name, { PRESET: preset, ...own[name] }])),
  );

const found = (installation: Installation) => presetProblems(installation).map(({ what }) => what);

describe("presetProblems", () => {
  it.each(["observe", "partition", "energy", "energy-sleep"])("PRE-05 has nothing to say about %s alone", (preset) => {
    expect(found(all(preset))).toEqual([]);
  });

  it("PRE-05 warns about programs with different presets", () => {
    expect(found(installed({ operator: { PRESET: "energy" }, agent: { PRESET: "observe" } }))).toEqual([
      "Programs have different presets: joulie-operator energy, joulie-agent observe.",
    ]);
  });

  it.each([
    [
      "energy-sleep",
      { agent: { SIMULATE_ONLY: "true" } },
      "Agents only observe (SIMULATE_ONLY=true), but idle machines",
    ],
    [
      "energy-sleep",
      { extender: { SCORING: "headroom" } },
      "Nodes may sleep (SLEEP_MODE=on), but the extender spreads",
    ],
    [
      "partition",
      { operator: { POLICY_TYPE: "fit_aware_v1" } },
      "POLICY_TYPE=fit_aware_v1 has no ECO_MAX_SLOWDOWN_PCT.",
    ],
  ])("PRE-05 warns about %s with %j", (preset, own, what) => {
    expect(found(all(preset, own as never))).toEqual([expect.stringContaining(what)]);
  });

  it("PRE-05 clears the values of the chart that override the preset", () => {
    const [problem] = presetProblems(all("energy-sleep", { agent: { SIMULATE_ONLY: "true" } }));
    expect(problem?.command).toContain("--set preset=PRESET,mode=,sleep.mode=");
  });

  it("ignores programs of a version without presets", () => {
    const without = installed({ operator: { POLICY_TYPE: "fit_aware_v1" } });
    expect(found(without)).toEqual([]);
    expect(presetText(without)).toBeUndefined();
  });
});

describe("presetText", () => {
  it("PRE-04 is the preset and what single variables override", () => {
    expect(presetText(all("energy"))).toBe("energy");
    expect(presetText(all("energy", { operator: { ECO_MAX_SLOWDOWN_PCT: "20", SLEEP_MODE: "recommend" } }))).toBe(
      "energy, overridden: operator ECO_MAX_SLOWDOWN_PCT=20 (preset: 50), operator SLEEP_MODE=recommend",
    );
  });
});
