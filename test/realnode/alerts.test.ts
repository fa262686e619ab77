import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { run } from "./command.ts";

const root = join(import.meta.dirname, "../..");
const file = join(root, "charts/joulie/files/alerts.yaml");

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string;
      readonly expr: string;
      readonly annotations: { readonly runbook_url: string };
    }[];
  }[];
}

describe("the chart's alerts", () => {
  const rules = (parse(readFileSync(file, "utf8")) as Rules).groups.flatMap((group) => group.rules);

  it("are accepted by promtool", async () => {
    expect(await run("promtool", ["check", "rules", file])).toContain(`SUCCESS: ${rules.length} rules found`);
  });

  it("SLP-63 fire when they should, and not for sleeping nodes", async () => {
    expect(await run("promtool", ["test", "rules", join(root, "test/chart/alerts.promtool.yaml")])).toContain(
      "SUCCESS",
    );
  });

  it.each(rules)("$alert has a section in the troubleshooting guide", ({ alert, annotations }) => {
    expect(readFileSync(join(root, "docs/guides/troubleshooting.md"), "utf8")).toContain(`\n### ${alert}\n`);
    expect(annotations.runbook_url).toMatch(new RegExp(`/docs/guides/troubleshooting\\.md#${alert.toLowerCase()}$`));
  });

  it.each(rules)("$alert uses only metrics that exist", ({ expr }) => {
    const reference = readFileSync(join(root, "docs/reference/metrics.md"), "utf8");
    for (const [name] of expr.matchAll(/joulie_\w+/g)) {
      expect(reference).toContain(`\`${name.replace(/_bucket$/, "")}\``);
    }
  });
});
