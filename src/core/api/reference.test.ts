import { expect, it } from "vitest";
import { errorGroups, errorRegistry } from "./error-registry.ts";
import { CodedError, errorCodeOf, JoulieError } from "./errors.ts";
import { kinds, nodeHardwareKind, telemetryProfileKind } from "./kinds.ts";
import { crdReference, errorReference } from "./reference.ts";

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

it("lists every error code with its cause and remedy", () => {
  const page = errorReference();
  for (const [code, { cause, remedy }] of Object.entries(errorRegistry)) {
    expect(page).toContain(`### ${code}\n\n**Cause.** ${cause}\n\n**What to do.** ${remedy}`);
  }
});

it("groups the error codes by program", () => {
  const sections = errorReference().split("\n## ").slice(1);
  expect(sections.map((section) => section.split("\n", 1)[0])).toEqual(errorGroups);
  for (const section of sections) expect(section).toContain("### JOULIE_E_");
});

it("finds the code of any error", () => {
  expect(errorCodeOf(new CodedError("JOULIE_E_TLS", "x"))).toBe("JOULIE_E_TLS");
  expect(errorCodeOf(new JoulieError("JOULIE_E_CONFIG_VALUE", "x"))).toBe("JOULIE_E_CONFIG_VALUE");
  const others = [new Error("x"), Object.assign(new Error("x"), { code: "ENOENT" }), undefined, null, "toString"];
  expect(others.map(errorCodeOf)).toEqual(others.map(() => "JOULIE_E_INTERNAL"));
});
