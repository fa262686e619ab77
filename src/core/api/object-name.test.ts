import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { objectNameField } from "./fields.ts";
import { nodeTwinKind } from "./kinds.ts";
import { isObjectName } from "./object-shape.ts";
import { readObject } from "./read.ts";
import { isLabelKey } from "./selector.ts";
import { validateForWrite } from "./write.ts";

const longLabel = "a".repeat(70);

const legal = [
  "a",
  "0",
  "worker-1",
  "worker-1.example",
  "a--b",
  longLabel,
  `${longLabel}.${longLabel}`,
  "x".repeat(253),
];
const illegal = [
  "",
  "A",
  "a_b",
  "-a",
  "a-",
  ".a",
  "a.",
  "a..b",
  "a.-b",
  "a-.b",
  "a b",
  "a\n",
  "ü",
  "a/b",
  "x".repeat(254),
];

describe("isObjectName", () => {
  it.each(legal)("accepts %j, as Kubernetes does", (name) => {
    expect(isObjectName(name)).toBe(true);
  });

  it.each(illegal)("rejects %j", (name) => {
    expect(isObjectName(name)).toBe(false);
  });

  it("is used by schemas and label prefixes", () => {
    const schema = objectNameField("A name.");
    const near = fc.string({ unit: fc.constantFrom("a", "z", "0", "-", ".", "A", "_"), maxLength: 8 });
    const text = fc.oneof(near, fc.constantFrom(...legal, ...illegal));
    fc.assert(
      fc.property(text, (name) => {
        expect(schema.safeParse(name).success).toBe(isObjectName(name));
        expect(isLabelKey(`${name}/key`)).toBe(isObjectName(name));
      }),
      { numRuns: 500 },
    );
  });

  it("reads and writes a node whose name has a label longer than DNS allows", () => {
    const twin = { metadata: { name: longLabel }, spec: { nodeName: longLabel, profile: "eco" as const } };
    expect(readObject(nodeTwinKind, twin)).toEqual({ ok: true, value: twin });
    expect(validateForWrite(nodeTwinKind, twin)).toMatchObject(twin);
  });
});
