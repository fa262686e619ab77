import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { CodedError } from "../../core/api/index.ts";
import { ApiError } from "../kube/index.ts";
import { createLogger, type LoggerOptions } from "./index.ts";

function captured(options: Partial<LoggerOptions> = {}) {
  const lines: string[] = [];
  const log = createLogger({
    level: "info",
    program: "agent",
    destination: { write: (line) => lines.push(line) },
    ...options,
  });
  const last = (): Record<string, unknown> => JSON.parse(lines.at(-1) ?? "{}");
  return { lines, log, last };
}

describe("createLogger", () => {
  it("writes one JSON object per line: level as a word, ISO time, program, message", () => {
    const { lines, log, last } = captured();
    log.warn({ node: "n1" }, "cap not applied");
    expect(lines).toHaveLength(1);
    expect(lines[0]?.endsWith("\n")).toBe(true);
    expect(last()).toEqual({
      level: "warn",
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      program: "agent",
      node: "n1",
      msg: "cap not applied",
    });
  });

  it("respects its level", () => {
    const { lines, log } = captured({ level: "warn" });
    log.info("quiet");
    log.error("loud");
    expect(lines).toHaveLength(1);
    const silent = captured({ level: "silent" });
    silent.log.fatal("nothing");
    expect(silent.lines).toEqual([]);
  });

  it.each(["err", "error"])("logs an error under %s with its code and its cause", (name) => {
    const { log, last } = captured();
    const cause = Object.assign(new Error("connect refused"), { code: "ECONNREFUSED" });
    log.error({ [name]: Object.assign(new Error("no telemetry", { cause }), { code: "JOULIE_E001" }) }, "pass failed");
    expect(last()).toMatchObject({
      [name]: {
        type: "Error",
        message: "no telemetry",
        code: "JOULIE_E001",
        stack: expect.stringContaining("logger.test.ts"),
        cause: { message: "connect refused", code: "ECONNREFUSED" },
      },
      msg: "pass failed",
    });
  });

  it("X-180 logs an expected failure with its code and its cause, without a stack", () => {
    const { log, last } = captured();
    const cause = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:6443"), { code: "ECONNREFUSED" });
    log.warn({ attempt: 2, err: new ApiError("network", "GET /api/v1/nodes: no connection", { cause }) }, "retrying");
    const { err, ...line } = last();
    expect(line).toMatchObject({ code: "JOULIE_E_API_UNREACHABLE", attempt: 2 });
    expect(err).toEqual({
      type: "ApiError",
      name: "ApiError",
      message: "GET /api/v1/nodes: no connection",
      code: "JOULIE_E_API_UNREACHABLE",
      kind: "network",
      notDone: false,
      cause: { type: "Error", message: "connect ECONNREFUSED 127.0.0.1:6443", code: "ECONNREFUSED" },
    });
    log.warn({ err: cause }, "retrying");
    expect(last()).toMatchObject({ code: "JOULIE_E_CONNECTION", err: { code: "ECONNREFUSED" } });
    expect(last()["err"]).not.toHaveProperty("stack");
  });

  it("X-180 logs a connection that failed at every address of a host without a stack", () => {
    const { log, last } = captured();
    const refused = ["::1", "127.0.0.1"].map((address) =>
      Object.assign(new Error(`connect ECONNREFUSED ${address}:6443`), { code: "ECONNREFUSED" }),
    );
    log.warn({ err: Object.assign(new AggregateError(refused), { code: "ECONNREFUSED" }) }, "retrying");
    expect(last()).toMatchObject({ err: { aggregateErrors: [{ message: "connect ECONNREFUSED ::1:6443" }, {}] } });
    expect(JSON.stringify(last())).not.toContain("stack");
  });

  it("handles expected failures that are causes of each other", () => {
    const { log, last } = captured();
    const error = Object.assign(new Error("round"), { code: "ECONNRESET" });
    error.cause = Object.assign(new Error("trip", { cause: error }), { code: "EPIPE" });
    log.error(error);
    expect(last()).toMatchObject({ err: { message: "round" } });
  });

  it("handles an error that is its own cause", () => {
    const { log, last } = captured();
    const error = new Error("round");
    error.cause = error;
    log.error(error);
    expect(last()).toMatchObject({ msg: "round", err: { message: "round" } });
  });

  it.each(["json", "pretty"] as const)("redacts secrets from every input: %s", (format) => {
    const { lines, log } = captured({ format });
    const url = "https://joulie:hush@prometheus";
    log.info(
      { request: { headers: { authorization: "Bearer hush" } }, list: [{ deep: { token: "hush" } }], url },
      `asked ${url}`,
    );
    log.child({ password: "hush", url }).info("bound");
    log.error(Object.assign(new Error(`no answer from ${url}`), { secret: "hush" }));
    const text = lines.join("");
    expect(text).not.toContain("hush");
    expect(text).toContain("https://joulie:***@prometheus");
  });

  it("writes one human-readable line in the pretty format", () => {
    const { lines, log } = captured({ format: "pretty" });
    log.info({ nodes: 3 }, "pass done");
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: agent: pass done \{"nodes":3\}\n$/);
  });

  it("writes one line and escapes control characters in the pretty format", () => {
    const { lines, log } = captured({ format: "pretty" });
    log.info({ node: "n\n1\u001b" }, "done\n[00:00:00.000] FATAL: forged \u001b[31m\u009b");
    expect(lines.join("")).toMatch(/^[^\p{Cc}]+\n$/u);
    expect(lines[0]).toContain("agent: done\\n[00:00:00.000] FATAL: forged \\u001b[31m\\u009b ");
    log.error(new Error("no answer\u001b[31m"), undefined);
    expect(lines[1]).not.toContain("\u001b");
  });

  /** Clears the screen, rings the bell, reverses text direction, and starts a forged log line. */
  const HOSTILE =
    "\u001b[2J\u0007\u009b31m\u0085\u202e\u2066\u200f\u061c\u2028\u2029\u007f\r\n[00:00:00.000] FATAL: forged";
  const hostileError = () => {
    const cause = Object.assign(new Error(HOSTILE), { code: HOSTILE });
    return Object.assign(new Error(HOSTILE, { cause }), { name: HOSTILE, code: HOSTILE, [HOSTILE]: HOSTILE });
  };
  const everyField = {
    [HOSTILE]: HOSTILE,
    node: HOSTILE,
    nodes: [HOSTILE, { [HOSTILE]: [HOSTILE] }],
    // Names that a pretty-printer may treat specially.
    name: HOSTILE,
    hostname: HOSTILE,
    pid: HOSTILE,
    caller: HOSTILE,
    type: "Error",
    stack: HOSTILE,
    message: HOSTILE,
    level: HOSTILE,
    time: HOSTILE,
    program: HOSTILE,
  };

  it("escapes control characters in every field, key, error and cause", () => {
    const { lines, log } = captured({ format: "pretty" });
    log.info(everyField, HOSTILE);
    log.child(everyField).warn(HOSTILE);
    log.error({ err: hostileError(), error: hostileError() }, HOSTILE);
    log.fatal(hostileError());
    expect(lines).toHaveLength(4);
    const text = lines.join("");
    expect(text).not.toMatch(/[^\P{Cc}\n]|[\p{Zl}\p{Zp}\p{Bidi_Control}]/u);
    // Stack lines are indented: only genuine log lines start in the first column.
    expect(text).not.toMatch(/^\[00:00:00\.000\] FATAL: forged/m);
    expect(text).toContain("\\u001b[2J\\u0007\\u009b31m\\u0085\\u202e");
    expect(text).toMatch(/^ +at .*logger\.test\.ts/m);
  });

  it("keeps data unchanged in JSON, one valid object per line", () => {
    const { lines, log } = captured();
    log.info({ node: HOSTILE, nodes: [HOSTILE] }, HOSTILE);
    log.error({ err: hostileError() }, "failed");
    for (const line of lines) expect(line.match(/\n/g)).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ node: HOSTILE, nodes: [HOSTILE], msg: HOSTILE });
    expect(JSON.parse(lines[1] ?? "")).toMatchObject({ err: { code: HOSTILE, message: HOSTILE } });
  });

  it("works from a single-file bundle, on standard output, in both formats", async () => {
    const folder = mkdtempSync(join(tmpdir(), "joulie-log-"));
    try {
      const outfile = join(folder, "one.mjs");
      await build({
        stdin: {
          contents: `import { createLogger } from "./index.ts";
            for (const format of ["json", "pretty"]) createLogger({ level: "info", format, program: "demo" }).info("bundled");
            process.exit(0);`,
          resolveDir: import.meta.dirname,
          loader: "ts",
        },
        outfile,
        bundle: true,
        platform: "node",
        format: "esm",
        banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
      });
      const [json, pretty] = execFileSync(process.execPath, [outfile], { encoding: "utf8", cwd: folder }).split("\n");
      expect(JSON.parse(json ?? "")).toMatchObject({ level: "info", program: "demo", msg: "bundled" });
      expect(pretty).toMatch(/INFO: demo: bundled$/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("error codes", () => {
  const codes = (write: (log: ReturnType<typeof createLogger>) => void) => {
    const lines: { code?: string }[] = [];
    const destination = { write: (line: string) => lines.push(JSON.parse(line) as { code?: string }) };
    write(createLogger({ level: "debug", program: "agent", destination }));
    return lines.map(({ code }) => code);
  };

  it("are added to warnings and errors that log an error", () => {
    const err = new CodedError("JOULIE_E_TLS", "no key");
    expect(codes((log) => log.warn({ err }, "x"))).toEqual(["JOULIE_E_TLS"]);
    expect(codes((log) => log.error({ err: new Error("bug") }, "x"))).toEqual(["JOULIE_E_INTERNAL"]);
  });

  it("do not replace a given code and are not added to other lines", () => {
    const err = new CodedError("JOULIE_E_TLS", "no key");
    expect(codes((log) => log.error({ code: "JOULIE_E_JOURNAL", err }, "x"))).toEqual(["JOULIE_E_JOURNAL"]);
    expect(codes((log) => log.info({ err }, "x"))).toEqual([undefined]);
    expect(codes((log) => log.warn("x"))).toEqual([undefined]);
    expect(codes((log) => log.warn({ node: "a" }, "x"))).toEqual([undefined]);
  });
});
