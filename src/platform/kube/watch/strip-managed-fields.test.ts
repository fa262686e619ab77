import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withoutManagedFields } from "./strip-managed-fields.ts";

const cut = (text: string) => withoutManagedFields(Buffer.from(text)).toString();

/** Slow reference implementation: parses the value. */
const emptied = (text: string): unknown =>
  JSON.parse(text, (key, value: unknown) => (key === "managedFields" && Array.isArray(value) ? [] : value));

describe("withoutManagedFields", () => {
  it("empties managedFields and leaves every other byte unchanged", () => {
    const fields =
      '[{"manager":"kubelet","fieldsV1":{"f:status":{"k:{\\"type\\":\\"Ready]\\"}":{".":{}}}}},{"a":[["]"],[]]}]';
    expect(cut(`{"metadata":{"name":"a","managedFields":${fields}},"spec":{}}`)).toBe(
      '{"metadata":{"name":"a","managedFields":[]},"spec":{}}',
    );
  });

  it.each([
    ['{"managedFields":[{"k:a],\\"b":1}],"c":[2],"d":3}', '{"managedFields":[],"c":[2],"d":3}'],
    ['{"m":{"managedFields":[{"v:]},\\"spec\\":":{}}]},"spec":[4]}', '{"m":{"managedFields":[]},"spec":[4]}'],
    ['{"m":{"managedFields":[{"a":[1],"b":2}]},"spec":5}', '{"m":{"managedFields":[]},"spec":5}'],
    ['{"m":{"managedFields":[{"a":"]"}]},"7":5}', '{"m":{"managedFields":[]},"7":5}'],
    ['{"managedFields":[],"managedFields":[[]]}', '{"managedFields":[],"managedFields":[]}'],
    ['{"managedFields":[["managedFields":[1]]],"a":1}', '{"managedFields":[],"a":1}'],
  ])("handles %s", (text, expected) => {
    expect(cut(text)).toBe(expected);
  });

  it("does not search for the end beyond its line", () => {
    const torn = '{"managedFields":[{"a":"\n{"managedFields":[1],"b":2}\n{"managedFields":[1\n{"c":[1],"d":3}';
    expect(cut(torn)).toBe(
      '{"managedFields":[{"a":"\n{"managedFields":[],"b":2}\n{"managedFields":[1\n{"c":[1],"d":3}',
    );
  });

  it("equals the reference implementation for any JSON", () => {
    const key = fc.oneof(fc.constantFrom("managedFields", "a", '"managedFields":[', "]", "\\"), fc.string());
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        fc.oneof(fc.string(), fc.integer(), fc.constantFrom(null, true, "]", "[", '\\"', '"managedFields":[1]')),
        fc.array(tie("value"), { maxLength: 4 }),
        fc.dictionary(key, tie("value"), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 4 }), (values) => {
        const text = JSON.stringify(values);
        expect(JSON.parse(cut(text))).toEqual(emptied(text));
        const lines = values.map((each) => JSON.stringify(each));
        expect(cut(lines.join("\n")).split("\n")).toEqual(lines.map(cut));
      }),
      { numRuns: 500 },
    );
  });

  it.each(["", "{}", '{"managedFields":[', '{"managedFields":["]', '{"managedFields":[{"a":"\\', "\n\n"])(
    "leaves %j unchanged",
    (text) => {
      expect(cut(text)).toBe(text);
    },
  );

  it("leaves a truncated line truncated", () => {
    const whole = '{"managedFields":[1]}\n{"managedFields":[2,"';
    expect(cut(whole)).toBe('{"managedFields":[]}\n{"managedFields":[2,"');
  });
});
