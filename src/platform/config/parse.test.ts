import { describe, expect, it } from "vitest";
import * as z from "zod";
import { integer, number } from "./numbers.ts";
import { type ConfigInputs, parseConfig } from "./parse.ts";
import { configOf, goesWith, needs, notAbove } from "./program.ts";
import type { ConfigSchema } from "./variable.ts";
import { choice, duration, json, labelKeys, text, url } from "./variable-types.ts";

const about = "Something.";
const config = configOf(
  {
    LEAST: integer({ default: "1", about }),
    MOST: integer({ default: "9", about }),
    SHARE: number({ default: "0.5", min: 0, about }),
    SOURCE: choice(["host", "http"], { default: "host", about }),
    ENDPOINT: url({ about }),
    PHRASE: text({ about, allowed: "four letters", contains: "x" }),
    KEYS: labelKeys({ default: "a,b", about }),
    CAPS: json(z.record(z.string(), z.object({ max: z.number() })), {
      default: '{"H100":{"max":7}}',
      allowed: "JSON",
      about,
    }),
    WAIT: duration({ default: "60s", about }),
    COLOUR: text({
      allowed: "a colour",
      about,
      derived: {
        text: "as SOURCE, green on a terminal",
        from: (texts, { isTerminal }) => (isTerminal ? "green" : texts["SOURCE"]),
      },
    }),
  },
  [notAbove("LEAST", "MOST"), needs("SOURCE", "http", "ENDPOINT"), goesWith("PHRASE", "ENDPOINT")],
);

const inputs: ConfigInputs = { env: {}, flags: {}, machine: { isTerminal: false, exists: () => false } };

function read(given: Partial<ConfigInputs>) {
  const parsed = parseConfig(config, { ...inputs, ...given });
  if (!parsed.ok) throw new Error(parsed.error.problems.map(({ message }) => message).join("\n"));
  return parsed.value;
}

function problems(given: Partial<ConfigInputs>, of: ConfigSchema = config): string[] {
  const parsed = parseConfig(of, { ...inputs, ...given });
  return parsed.ok ? [] : parsed.error.problems.map(({ message }) => message);
}

describe("the source of a value", () => {
  it("prefers the flag, then the environment, then the default", () => {
    const { values, sources } = read({ env: { LEAST: "2", MOST: "7" }, flags: { LEAST: "3" } });
    expect(values).toMatchObject({ LEAST: 3, MOST: 7, SHARE: 0.5 });
    expect(sources).toMatchObject({ LEAST: "flag", MOST: "environment", SHARE: "default", ENDPOINT: "default" });
  });

  it.each(["", "  ", "\n"])("is the default if the environment has %j", (empty) => {
    const { values, sources } = read({ env: { LEAST: empty, ENDPOINT: empty } });
    expect(values).toMatchObject({ LEAST: 1, ENDPOINT: undefined });
    expect(sources).toMatchObject({ LEAST: "default", ENDPOINT: "default" });
  });

  it("trims whitespace around a value, such as the final newline of a mounted file", () => {
    expect(read({ env: { LEAST: " 2\n" } }).values.LEAST).toBe(2);
  });

  it("may derive the default from other variables or the machine", () => {
    expect(read({ env: { SOURCE: "http", ENDPOINT: "http://a" } })).toMatchObject({
      values: { COLOUR: "http" },
      sources: { COLOUR: "derived" },
    });
    expect(read({ machine: { isTerminal: true, exists: () => false } }).values.COLOUR).toBe("green");
    expect(read({ env: { COLOUR: "red" } })).toMatchObject({
      values: { COLOUR: "red" },
      sources: { COLOUR: "environment" },
    });
  });

  it("validates an empty flag", () => {
    expect(problems({ flags: { LEAST: "" } })).toEqual(['--least="" is not an integer; allowed: an integer']);
  });
});

describe("problems", () => {
  it("are all reported at once, including violated rules", () => {
    expect(problems({ env: { SHARE: "half", WAIT: "banana", LEAST: "5", MOST: "3", SOURCE: "http" } })).toEqual([
      'SHARE="half" is not a number; allowed: a number of at least 0',
      expect.stringMatching(/^WAIT="banana" is not a duration; allowed: a duration such as /),
      'LEAST="5" is above MOST="3"; allowed: at most MOST',
      'SOURCE="http" needs ENDPOINT (not set); allowed: SOURCE=http with ENDPOINT set',
    ]);
  });

  it("between variables are checked only if each variable is valid", () => {
    expect(problems({ env: { LEAST: "5", MOST: "few" } })).toEqual([
      'MOST="few" is not an integer; allowed: an integer',
    ]);
  });

  it("name the flag if the value came from a flag", () => {
    expect(problems({ flags: { MOST: "0" } })).toEqual(['LEAST="1" is above --most="0"; allowed: at most MOST']);
  });

  it("name the variable they are about", () => {
    const parsed = parseConfig(config, { ...inputs, flags: { SHARE: "-1" } });
    expect(parsed).toMatchObject({ ok: false, error: { problems: [{ variable: "SHARE" }], warnings: [] } });
  });

  it("stay on one short line for any value", () => {
    const [message = ""] = problems({ env: { SHARE: `a\nb${"c".repeat(5000)}` } });
    expect(message).toMatch(/^SHARE="a\\nbc+…" is not a number; allowed: [^\n]*$/);
    expect(message.length).toBeLessThan(300);
  });

  it("escape control characters, also if the reader quotes the value", () => {
    const CAPS = '{"a\\nb\\u001b":{"max":"7"}}';
    expect(problems({ env: { SHARE: "\u001b[31m\u009b\u007f", CAPS } })).toEqual([
      'SHARE="\\u001b[31m\\u009b\\u007f" is not a number; allowed: a number of at least 0',
      expect.stringMatching(/ is wrong at a\\nb\\u001b\.max \(/),
    ]);
  });

  it("keep braces of a value as they are", () => {
    expect(problems({ env: { KEYS: "{LEAST}" } })[0]).toContain('has "{LEAST}", which');
  });

  it("include the warnings about misspelt names", () => {
    const parsed = parseConfig(config, { ...inputs, env: { SOURCE: "http", ENDPIONT: "http://a" } });
    expect(parsed).toMatchObject({
      ok: false,
      error: {
        problems: [{ variable: "SOURCE" }],
        warnings: ["ENDPIONT is not a variable of Joulie and has no effect; did you mean ENDPOINT?"],
      },
    });
  });

  it("hide secrets and credentials", () => {
    const env = { ENDPOINT: "htp://me:hunter3@host", SHARE: "http://hunter4@host", KEYS: "a,https://me:hunter5@host" };
    const messages = problems({ env });
    expect(messages).toHaveLength(3);
    expect(messages.join()).not.toMatch(/hunter/);
  });

  it("report a default that cannot be derived", () => {
    const needy = configOf({ SHARD: integer({ about, derived: { text: "the ordinal", from: () => undefined } }) });
    expect(problems({}, needy)).toEqual([
      "SHARD is not set and cannot be derived here (default: the ordinal); allowed: an integer",
    ]);
  });
});

describe("the values", () => {
  it("are deeply frozen", () => {
    const { values, sources } = read({});
    for (const frozen of [values, sources, values.KEYS, values.CAPS, values.CAPS["H100"]]) {
      expect(Object.isFrozen(frozen)).toBe(true);
    }
  });

  it("are formatted for people, without secrets", () => {
    const env = { ENDPOINT: "http://me:hunter2@host?sig=hunter3", PHRASE: "http://hunter4@xyz" };
    expect(read({ env }).printable).toMatchObject({ WAIT: "1m", LEAST: "1", ENDPOINT: "http://me:***@host?sig=***" });
    expect(read({ env }).printable["PHRASE"]).toBe("http://***@xyz");
    expect(read({}).printable).not.toHaveProperty("ENDPOINT");
  });

  it("X-223 include what to do instead of a variable that the program had in an earlier version", () => {
    const env = { SWITCH_TIMEOUT: "1s", KUBE_ALLOW_INSECURE_TOKEN: "true", SLEEP_SETTLE: " " };
    expect(read({ env, program: "power" }).warnings).toEqual([
      "KUBE_ALLOW_INSECURE_TOKEN is not a variable any more and has no effect: set ALLOW_INSECURE_TOKEN instead",
      "SWITCH_TIMEOUT is not a variable any more and has no effect: its value is fixed now: 20s",
    ]);
    expect(read({ env: { SWITCH_TIMEOUT: "1s" }, program: "operator" }).warnings).toEqual([]);
  });

  it("include a warning for a misspelt name, but not for another program's variable", () => {
    expect(read({ env: { ENDPIONT: "x" } }).warnings).toEqual([
      "ENDPIONT is not a variable of Joulie and has no effect; did you mean ENDPOINT?",
    ]);
    expect(read({ env: { ENDPIONT: "x" }, known: ["ENDPIONT"] }).warnings).toEqual([]);
  });
});
