import { expect, it } from "vitest";
import * as z from "zod";
import { power } from "../../src/core/api/fields.ts";
import { kinds, nodeHardwareKind, nodeTwinKind, telemetryProfileKind } from "../../src/core/api/index.ts";
import { needsOneOf, withRules } from "../../src/core/api/rules.ts";
import { leavesOf } from "../../src/core/api/testing/sample.ts";
import { crdReference } from "./crds.ts";

it("gives every kind a section with purpose, writer, columns, fields and rules", () => {
  const page = crdReference(kinds);
  for (const kind of kinds) {
    expect(page).toContain(`\n## ${kind.kind}\n\n${kind.purpose}\n\n${kind.writtenBy}\n`);
    for (const { name, jsonPath } of kind.columns) expect(page).toContain(`| ${name} | \`${jsonPath}\` |`);
  }
  expect(page).toContain("| `spec.cpu.packagePowerCapPctOfMax` | number |  | > 0, ≤ 100 |");
  expect(page).toContain("| `spec.profile` | string | yes | `performance`, `eco` |");
  expect(page).toContain("| `status.conditions` | list of object (map) |  | at most 32 items |");
  expect(page).toContain("| `status.conditions[].type` | string | yes |");
  expect(page).toContain("| `status.lastUpdated` | timestamp |");
  expect(page).toContain("| the object | `self.metadata.name == self.spec.nodeName` |");
});

it("names aliases and selectable fields", () => {
  expect(crdReference([nodeHardwareKind])).toContain(
    "`status.gpu.capRange` is read as an alias of `status.gpu.capRangePerGpu`.",
  );
  expect(crdReference([telemetryProfileKind])).toContain("`spec.target.nodeName`, `spec.target.scope`.");
});

it("escapes pipes and line breaks in table cells", () => {
  const rows = crdReference(kinds)
    .split("\n")
    .filter((line) => line.startsWith("|"));
  const widths = rows.map((line) => line.replaceAll("\\|", "").split("|").length - 2);
  expect(new Set(widths)).toEqual(new Set([5, 3]));
});

it("X-01 shows a new field and rule of a schema", () => {
  const spec = nodeTwinKind.schema.shape.spec as z.ZodObject;
  const rackBudgetW = power("Budget of the rack, in watts.");
  const schema = nodeTwinKind.schema.safeExtend({
    spec: withRules(z.object({ ...spec.shape, rackBudgetW }), needsOneOf("rackBudgetW", "cpu")),
  }) as unknown as typeof nodeTwinKind.schema;
  const page = crdReference([{ ...nodeTwinKind, schema }]);
  expect(page).toContain("| `spec.rackBudgetW` | number | yes | ≥ 0 | Budget of the rack, in watts. |");
  expect(page).toContain("`has(self.rackBudgetW) \\|\\| has(self.cpu)`");
  expect(crdReference([nodeTwinKind])).not.toContain("rackBudgetW");
});

it("X-01 leaves no field out", () => {
  const page = crdReference(kinds);
  for (const kind of kinds) {
    const section = page.slice(page.indexOf(`## ${kind.kind}\n`));
    const fields = leavesOf(kind).map(({ path }) => path.join(".").replace(/\.0$/, "").replaceAll(".0", "[]"));
    expect(fields.filter((path) => !section.includes(`\`${path}\``))).toEqual([]);
  }
});
