import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fillPromql, fillUrl, unionOf } from "./template.ts";

const sign = fc.oneof(
  fc.constantFrom(".", "/", "\\", "?", "#", "%", "@", ":", '"', "'", "`", "$", "&", "{", "}", " ", "\n"),
  fc.integer({ min: 1, max: 0xd7ff }).map((code) => String.fromCodePoint(code)),
);

describe("fillUrl", () => {
  it("X-09 escapes a node's name in a URL, so that it cannot leave its place", () => {
    const fill = (node: string) => fillUrl("http://host/telemetry/{node}?of={node}", "{node}", node).href;
    expect(fill("a.example.com")).toBe("http://host/telemetry/a.example.com?of=a.example.com");
    expect(fill("../admin?x=1#y")).toBe("http://host/telemetry/..%2Fadmin%3Fx%3D1%23y?of=..%2Fadmin%3Fx%3D1%23y");
    expect(fill("$&{node}")).toBe("http://host/telemetry/%24%26%7Bnode%7D?of=%24%26%7Bnode%7D");
    fc.assert(
      fc.property(fc.string({ unit: sign, minLength: 1 }), (node) => {
        fc.pre(!/^\.+$/.test(node));
        const url = fillUrl("http://host/telemetry/{node}", "{node}", node);
        expect([url.host, url.search, url.hash]).toEqual(["host", "", ""]);
        expect(url.pathname.split("/")).toHaveLength(3);
        expect(decodeURIComponent(url.pathname)).toBe(`/telemetry/${node}`);
      }),
    );
  });

  it.each(["", ".", "..", "\ud800"])("X-09 refuses a name that has no escaped form: %j", (node) => {
    expect(() => fillUrl("http://host/{node}/power", "{node}", node)).toThrow(/gives an invalid URL/);
  });

  it.each(["evil.example/", "a@b", "a:80", "a b", "a#", "a\\b"])(
    "X-09 rejects a name that would change the host: %j",
    (node) => {
      expect(() => fillUrl("http://{node}.local:9100/", "{node}", node)).toThrow(/gives an invalid URL/);
    },
  );
});

describe("fillPromql", () => {
  const fill = (template: string, value: string) => fillPromql(template, "{zone}", value);

  it.each([
    ['t{z="{zone}"}', 'a"b\\c\nd', String.raw`t{z="a\"b\\c\nd"}`],
    ["t{z='{zone}'}", `a'b"c`, String.raw`t{z='a\'b"c'}`],
    ["t{z=`{zone}`}", "a`b", 't{z="a`b"}'],
    ["t{z=`x\\d{zone}`}", 'a"', String.raw`t{z="x\\da\""}`],
    ['t{z=~"{zone}|x"}', "a.b|.*", String.raw`t{z=~"a\\.b\\|\\.\\*|x"}`],
    ['t{z !~ "{zone}"}', "a+", String.raw`t{z !~ "a\\+"}`],
    ["t{z=~`{zone}`}", "a.b", String.raw`t{z=~"a\\.b"}`],
    ["zone_{zone}_celsius", 'a-1"} or vector(1)', "zone_a_1___or_vector_1__celsius"],
    [`t{a="\\"",z="{zone}"}`, '"', String.raw`t{a="\"",z="\""}`],
    ['t{z="{zone}"} # of "{zone}', "x", 't{z="x"} # of "x'],
    ['t{z="{zone}"}', "$& {zone} $1", 't{z="$& {zone} $1"}'],
    ["up", "a", "up"],
    ['t{z="{zone}', "a b", 't{z="a_b'],
  ])("X-09 escapes the value for its context: %s with %j", (template, value, expected) => {
    expect(fill(template, value)).toBe(expected);
  });

  it("X-09 keeps any value within one string", () => {
    fc.assert(
      fc.property(fc.string({ unit: sign }), fc.constantFrom('"', "'", "`"), (value, quote) => {
        const filled = fill(`t{z=${quote}{zone}${quote}}`, value);
        const literal = filled.slice("t{z=".length, -1);
        const used = literal[0] ?? "";
        const inner = literal.slice(1, -1);
        expect(inner.replace(/\\./gs, "")).not.toContain(used);
        expect(inner).not.toContain("\n");
        expect(inner.replace(/\\(.)/gs, (_, sign: string) => (sign === "n" ? "\n" : sign))).toBe(value);
      }),
    );
  });
});

describe("unionOf", () => {
  it("labels each part, even if one ends in a comment", () => {
    expect(unionOf(["a", "sum(b) # all"])).toBe(
      'label_replace((a\n), "joulie_part", "0", "", "") or label_replace((sum(b) # all\n), "joulie_part", "1", "", "")',
    );
  });
});
