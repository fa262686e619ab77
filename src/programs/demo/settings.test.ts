import { expect, it } from "vitest";
import { parseConfig } from "../../platform/config/index.ts";
import { demoConfig, firstSpeed, wantedSpeed } from "./config.ts";
import { fleetSettings } from "./settings.ts";

it.each([
  [{}, { first: 60, wanted: 60 }],
  [{ NODES: "500" }, { first: 4, wanted: 60 }],
  [{ NODES: "10000" }, { first: 1, wanted: 60 }],
  [
    { NODES: "500", SPEED: "1" },
    { first: 1, wanted: 1 },
  ],
])("X-163 lets nodes sleep at every size and speed: %j begins at %j", (flags, speeds) => {
  const parsed = parseConfig(demoConfig, { env: {}, flags, machine: { isTerminal: false, exists: () => false } });
  if (!parsed.ok) throw new Error("the flags are refused");
  const config = parsed.value.values;
  expect(fleetSettings(config)).toMatchObject({ SLEEP: true, TAINT_NODES: false });
  expect({ first: firstSpeed(config), wanted: wantedSpeed(config) }).toEqual(speeds);
});
