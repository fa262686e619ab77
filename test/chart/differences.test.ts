import { expect, it } from "vitest";
import { differences } from "./differences.ts";

const role = (verbs: string) =>
  `---\n# Source: x\nkind: Role\nmetadata:\n  name: a\nrules:\n  verbs: ${verbs}\nlast: 1\n`;
const secret = "---\nkind: Secret\nmetadata:\n  name: b\n";

it("lists changed lines below the line before them, and objects that only one rendering has", () => {
  expect(differences(role("get"), role("get") + secret)).toBe("# Secret b\n+kind: Secret\n+metadata:\n+  name: b\n");
  expect(differences(secret + role("get"), role("list"))).toBe(
    "# Secret b\n-kind: Secret\n-metadata:\n-  name: b\n\n# Role a\n rules:\n-  verbs: get\n+  verbs: list\n",
  );
});

it("is empty for equal renderings", () => {
  expect(differences(role("get"), role("get"))).toBe("");
});
