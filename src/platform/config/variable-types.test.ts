import { describe, expect, it } from "vitest";
import * as z from "zod";
import { milliseconds, watts } from "../../core/units/index.ts";
import { bytes, integer, number, percentage, quantity } from "./numbers.ts";
import { factsOf } from "./variable.ts";
import {
  address,
  choice,
  duration,
  flag,
  json,
  labelKey,
  labelKeys,
  labelSelector,
  objectName,
  objectNames,
  path,
  text,
  url,
} from "./variable-types.ts";

const about = "Something.";
const any = { host: undefined };

describe.each<[string, z.ZodType, [string, unknown][], [string, string][]]>([
  [
    "a duration",
    duration({ about }),
    [
      ["30s", 30_000],
      ["1h30m", 5_400_000],
      ["500ms", 500],
      ["100ms", 100],
      ["597h", 2_149_200_000],
      ["2562047h", 9_223_369_200_000],
    ],
    [
      ["30", "is not a duration"],
      ["-1s", "is not a duration"],
      ["", "is not a duration"],
      ["0", "is shorter than 100ms"],
      ["1ns", "is shorter than 100ms"],
      ["99.999999ms", "is shorter than 100ms"],
      ["2562048h", "is not a duration"],
    ],
  ],
  [
    "a duration with a minimum",
    duration({ about, min: milliseconds(10_000) }),
    [["10s", 10_000]],
    [
      ["9.9s", "is shorter than 10s"],
      ["0", "is shorter than 10s"],
    ],
  ],
  [
    "a duration that may be 0",
    duration({ about, orZero: "off" }),
    [
      ["0", 0],
      ["0s", 0],
      ["1s", 1000],
    ],
    [
      ["off", "is not a duration"],
      ["0.9ms", "is shorter than 100ms"],
    ],
  ],
  [
    "a number",
    number({ about }),
    [
      ["-1.5", -1.5],
      ["1e3", 1000],
      [".5", 0.5],
    ],
    [
      ["half", "is not a number"],
      ["", "is not a number"],
      ["NaN", "is not a number"],
      ["Infinity", "is not a number"],
      ["1e999", "is not a number"],
      ["0x10", "is not a number"],
      ["1,5", "is not a number"],
    ],
  ],
  [
    "a number in bounds",
    number({ about, min: 1, max: 2 }),
    [
      ["1", 1],
      ["2", 2],
    ],
    [
      ["0.9", "is less than 1"],
      ["2.1", "is more than 2"],
    ],
  ],
  [
    "a quantity",
    quantity(watts, { about, above: 0 }),
    [["0.1", 0.1]],
    [
      ["0", "is not above 0"],
      ["5W", "is not a number"],
    ],
  ],
  [
    "an integer",
    integer({ about }),
    [
      ["3", 3],
      ["-3", -3],
      ["1e6", 1_000_000],
    ],
    [
      ["1.5", "is not an integer"],
      ["9007199254740993", "is not an integer"],
    ],
  ],
  [
    "a percentage",
    percentage({ about }),
    [
      ["100", 100],
      ["0.5", 0.5],
    ],
    [
      ["0", "is not above 0"],
      ["100.1", "is more than 100"],
      ["60%", "is not a percentage"],
    ],
  ],
  [
    "a flag",
    flag({ about }),
    [
      ["true", true],
      ["TRUE", true],
      ["1", true],
      ["false", false],
      ["0", false],
    ],
    [
      ["yes", "is not true or false"],
      ["constructor", "is not true or false"],
    ],
  ],
  ["a choice", choice(["auto", "rapl"], { about }), [["rapl", "rapl"]], [["RAPL", "is none of the choices"]]],
  ["a text", text({ about, allowed: "a text" }), [["x y", "x y"]], [["", "is empty"]]],
  [
    "a template",
    text({ about, allowed: "a text", contains: "{zone}" }),
    [["t_{zone}", "t_{zone}"]],
    [["t", "lacks {zone}"]],
  ],
  [
    "a path",
    path({ about }),
    [
      ["/sys", "/sys"],
      ["a/b", "a/b"],
    ],
    [
      ["", "is not a path"],
      ["a\0b", "is not a path"],
    ],
  ],
  [
    "a URL",
    url({ about }),
    [
      ["http://a:1", "http://a:1"],
      ["HTTPS://a/b?c", "HTTPS://a/b?c"],
      ['http://me:{x@[::1]:80?q=power{zone="a"}', 'http://me:{x@[::1]:80?q=power{zone="a"}'],
    ],
    ["a:1", "ftp://a", "http:a", "http:/a", "http://", "http://a:99999", "file:///x"].map((bad) => [
      bad,
      "is not an http or https URL",
    ]),
  ],
  [
    "a URL for each node",
    url({ about, placeholder: "{node}" }),
    [
      ["http://{node}:9100/x", "http://{node}:9100/x"],
      ["http://s/telemetry/{node}", "http://s/telemetry/{node}"],
    ],
    [
      ["{node}", "is not an http or https URL"],
      ["http://{nodes}/x", "has the unknown placeholder {nodes}"],
      ["http://s/{ node }", "has the unknown placeholder { node }"],
      ["http://s/{}/{node}", "has the unknown placeholder {}"],
      ["http://{node/x", "is not an http or https URL"],
    ],
  ],
  [
    "an address",
    address({ about }),
    [
      [":8080", { ...any, port: 8080 }],
      [":0", { ...any, port: 0 }],
      ["127.0.0.1:9876", { host: "127.0.0.1", port: 9876 }],
      ["localhost:1", { host: "localhost", port: 1 }],
      ["[::1]:80", { host: "::1", port: 80 }],
      ["[::ffff:1.2.3.4]:80", { host: "::ffff:1.2.3.4", port: 80 }],
      ["Metrics-1.Joulie.svc:80", { host: "Metrics-1.Joulie.svc", port: 80 }],
    ],
    [
      ["8080", "is not an address"],
      ["::1:80", "is not an address"],
      ["http://a:1", "is not an address"],
      ["a:", "is not an address"],
      ["a:-1", "is not an address"],
      ["[]:1", "is not an address"],
      ["-:80", "is not an address"],
      ["1.2.3:80", "is not an address"],
      ["1.2.3.256:80", "is not an address"],
      ["a..b:80", "is not an address"],
      ["[:::]:80", "is not an address"],
      ["[1.2.3.4]:80", "is not an address"],
      [":65536", "has a port above 65535"],
    ],
  ],
  [
    "a label selector",
    labelSelector({ about }),
    [["a=b", [{ key: "a", operator: "In", values: ["b"] }]]],
    [["a in (", "is not a label selector"]],
  ],
  [
    "a label key",
    labelKey({ about }),
    [
      ["joulie.io/rack", "joulie.io/rack"],
      ["rack", "rack"],
    ],
    [
      ["joulie.io/", "is not a label key"],
      ["a b", "is not a label key"],
    ],
  ],
  [
    "label keys",
    labelKeys({ about }),
    [
      ["a", ["a"]],
      ["a, b/c", ["a", "b/c"]],
    ],
    [
      ["a,,b", 'has "", which is not a label key'],
      ["a,b c", 'has "b c", which is not a label key'],
    ],
  ],
  [
    "names",
    objectNames({ about }),
    [["default-scheduler, volcano", ["default-scheduler", "volcano"]]],
    [
      ["", 'has "", which is not a name'],
      ["a,B", 'has "B", which is not a name'],
    ],
  ],
  [
    "a name",
    objectName({ about }),
    [["worker-01.example.com", "worker-01.example.com"]],
    [
      ["Worker", "is not a Kubernetes name"],
      ["a..b", "is not a Kubernetes name"],
      ["a".repeat(254), "is not a Kubernetes name"],
    ],
  ],
  [
    "bytes",
    bytes({ about }),
    [
      ["64Mi", 67_108_864],
      ["1", 1],
      ["2Gi", 2_147_483_648],
    ],
    [
      ["64MB", "is not a quantity"],
      ["0", "is not above 0"],
      ["-1", "is not above 0"],
      ["1500m", "is not a whole number of bytes"],
      ["3Gi", "is more than 2147483648"],
    ],
  ],
  [
    "JSON",
    json(z.record(z.string(), z.number()), { about, allowed: "an object" }),
    [
      ["{}", {}],
      ['{"a":1}', { a: 1 }],
    ],
    [["{", "is not JSON"]],
  ],
])("%s", (_, schema, good, bad) => {
  it.each(good)("reads %j", (written, value) => {
    expect(schema.parse(written)).toEqual(value);
  });

  it.each(bad)("rejects %j", (written, problem) => {
    expect(schema.safeParse(written).error?.issues.map(({ message }) => message)).toEqual([problem]);
  });
});

it("rejects JSON of the wrong structure with its path", () => {
  const schema = json(z.record(z.string(), z.object({ max: z.number() })), { about, allowed: "an object" });
  const problem = schema.safeParse('{"H100":{"max":"700"}}').error?.issues[0]?.message;
  expect(problem).toMatch(/^is wrong at H100\.max \(/);
  expect(schema.safeParse("[]").error?.issues[0]?.message).toMatch(/^is wrong at its top \(/);
});

describe("a formatted value", () => {
  it("is human-readable", () => {
    expect(factsOf(duration({ about })).show("60s")).toBe("1m");
    expect(factsOf(flag({ about })).show("1")).toBe("true");
    expect(factsOf(bytes({ about })).show("64Mi")).toBe("64Mi");
  });

  it("shows the minimum of a duration", () => {
    expect(factsOf(duration({ about })).allowed).toMatch(/, at least 100ms$/);
    expect(factsOf(duration({ about, min: milliseconds(10_000) })).allowed).toMatch(/, at least 10s$/);
    expect(factsOf(duration({ about, orZero: "off" })).allowed).toMatch(/, at least 100ms, or 0 \(off\)$/);
  });

  it("is one line without control characters", () => {
    expect(factsOf(text({ about, allowed: "any" })).show("a\nb\u001b[31m")).toBe("a\\nb\\u001b[31m");
    const caps = json(z.record(z.string(), z.number()), { about, allowed: "an object" });
    expect(factsOf(caps).show('{\n  "H100": 700\n}')).toBe('{"H100":700}');
  });

  it.each([
    ["https://me:hunter2@host/x", "https://me:***@host/x"],
    ["http://h/{node}?token=hunter2&watch=1", "http://h/{node}?token=***&watch=1"],
    ["http://hunter2@h/", "http://***@h/"],
    ["me:hunter2@host/x", "***@host/x"],
    ["http:/hunter2@host", "***@host"],
  ])("contains no secret: %s", (written, seen) => {
    const facts = factsOf(url({ about, placeholder: "{node}" }));
    expect([facts.show(written), facts.redact(written)]).toEqual([seen, seen]);
  });

  it("contains no secret if the value is an unexpected URL", () => {
    for (const schema of [path({ about }), number({ about }), text({ about, allowed: "any" })])
      expect(factsOf(schema).show("https://me:hunter2@host")).toBe("https://me:***@host");
  });
});
