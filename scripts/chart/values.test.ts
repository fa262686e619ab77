import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { grouped } from "../../src/platform/config/index.ts";
import { agentConfig } from "../../src/programs/agent/config.ts";
import { dashboardConfig } from "../../src/programs/dashboard/config.ts";
import { extenderConfig } from "../../src/programs/extender/config.ts";
import { fleetConfig } from "../../src/programs/fleet/config.ts";
import { operatorConfig } from "../../src/programs/operator/config.ts";
import { powerConfig } from "../../src/programs/power/config.ts";
import { chartValues, reservedVariables } from "./values.ts";

const configs = {
  agent: agentConfig,
  extender: extenderConfig,
  fleet: fleetConfig,
  operator: operatorConfig,
  power: powerConfig,
  dashboard: dashboardConfig,
};
const values = chartValues(configs);
const templates = join(import.meta.dirname, "../../charts/joulie/templates");
const templateText = readdirSync(templates, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.(yaml|tpl)$/.test(name))
  .map((name) => readFileSync(join(templates, name), "utf8"))
  .join("\n");

/** The pod has no kubeconfig, and an agent of a pool finds its shard in its name. */
const leftToThePrograms = new Set(["KUBECONFIG", "POOL_SHARD_ID"]);

describe("the chart's values", () => {
  it.each(Object.entries(configs))("cover every variable of %s", (program, config) => {
    const { members } = values.members[program] as unknown as {
      members: { env: { schema: { properties: object } } };
    };
    const variables = grouped(config)
      .flatMap((part) => part.variables)
      .filter(({ facts }) => !facts.flagOnly);
    expect(variables.length).toBeGreaterThan(5);
    const settable = Object.keys(members.env.schema.properties);
    const expected = variables.map(({ name }) => name).filter((name) => !reservedVariables.has(name));
    expect(settable.toSorted()).toEqual(expected.toSorted());
  });

  it("X-223 accept variables of an earlier version, about which the program warns", () => {
    const { members } = values.members["power"] as unknown as {
      members: { env: { schema: { patternProperties: object } } };
    };
    const [pattern = ""] = Object.keys(members.env.schema.patternProperties);
    for (const name of ["SWITCH_TIMEOUT", "KUBE_ALLOW_INSECURE_TOKEN"]) expect(name).toMatch(new RegExp(pattern));
    expect("SWITCH_TIMEOUTS").not.toMatch(new RegExp(pattern));
  });

  it.each([...reservedVariables].filter((name) => !leftToThePrograms.has(name)))("set %s in a template", (name) => {
    expect(templateText).toContain(`- name: ${name}\n`);
  });

  it("are all used by a template", () => {
    const paths: string[] = [];
    const collect = (members: typeof values.members, prefix: string): void => {
      for (const [name, member] of Object.entries(members)) {
        if (member.kind === "section") collect(member.members, `${prefix}${name}.`);
        else paths.push(name);
      }
    };
    collect(values.members, "");
    expect(paths.filter((name) => !new RegExp(`\\.${name}\\b`).test(templateText))).toEqual([]);
  });
});
