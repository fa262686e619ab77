import { expect, it } from "vitest";
import { choice, configOf, duration, everyProgram, flag, group, path } from "../../src/platform/config/index.ts";
import { programs } from "../../src/programs/index.ts";
import { configurationReference, usualVariables } from "./configuration.ts";

const page = configurationReference([
  {
    name: "agent",
    summary: "Enforces.",
    config: configOf({
      ...group("Pace", {
        WAIT: duration({ default: "30s", about: "How long." }),
        SIMULATE_ONLY: flag({ default: "false", about: "Whether." }),
      }),
      ...group("Files", {
        HOST_SYS_ROOT: path({ derived: { text: "/host-sys, else /sys", from: () => "/sys" }, about: "Where." }),
        MODE: choice(["a", "b"], { about: "Either a|b." }),
      }),
      ...everyProgram,
    }),
  },
  { name: "demo", summary: "Shows.", config: configOf(everyProgram) },
]);

it("the reference has a section for each program, a table for each group, and common variables once", () => {
  expect(page.match(/^##.*$/gm)).toEqual([
    "## Presets",
    "## Every program",
    "## joulie agent",
    "### Usual (agent)",
    "### Pace, advanced (agent)",
    "### Files, advanced (agent)",
    "## joulie demo",
  ]);
  expect(page.match(/`LOG_LEVEL`/g)).toHaveLength(1);
  expect(page).toContain("It reads only the variables of every program.");
});

it("the reference lists variable, flag, default, allowed values and purpose", () => {
  expect(page).toMatch(/^\| `WAIT` \| `--wait` \| `30s` \| a duration such as [^|]* \| How long\. \|$/m);
  expect(page).toContain("| `HOST_SYS_ROOT` | `--host-sys-root` | /host-sys, else /sys | a path | Where. |");
  expect(page).toContain("| `MODE` | `--mode` |  | a, b | Either a\\|b. |");
});

it.each(Object.entries(usualVariables))("the usual variables of %s are variables of it", async (name, usual) => {
  const config = await programs.find((program) => program.name === name)?.config();
  expect(Object.keys(config?.shape ?? {})).toEqual(expect.arrayContaining([...usual]));
});
