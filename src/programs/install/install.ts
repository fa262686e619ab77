import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parse, stringify } from "yaml";
import { formatDuration, type Milliseconds, milliseconds } from "../../core/units/index.ts";
import { printable } from "../../platform/printable/index.ts";
import type { InstallPlan, NodeKinds, ToolCommand } from "./findings.ts";

/** The chart beside the bundle or the sources, as a path that is short from here; undefined if it is not there. */
export function chartFolder(from: string = import.meta.url): string | undefined {
  let folder = dirname(fileURLToPath(from));
  for (let parent = dirname(folder); parent !== folder; folder = parent, parent = dirname(folder)) {
    const chart = join(folder, "charts/joulie");
    if (!existsSync(join(chart, "Chart.yaml"))) continue;
    const short = relative(process.cwd(), chart);
    return short.startsWith("..") ? chart : `./${short}`;
  }
  return undefined;
}

/** By which labels the chart tells nodes apart. */
export const nodeKindsOf = (chart: string): NodeKinds =>
  (parse(readFileSync(join(chart, "values.yaml"), "utf8")) as { agent: { kinds: NodeKinds } }).agent.kinds;

const MAX_WIDTH = 100;
const ABOUT_WIDTH = 16;

/** The plan as text that a shell can run from the word Commands on. */
export function planText({ findings, commands, byHand }: InstallPlan, columns = MAX_WIDTH): string {
  const width = Math.min(columns, MAX_WIDTH);
  const found = findings.map(([about, text]) => {
    const [first = "", ...rest] = wrapped(text, width - ABOUT_WIDTH);
    return [`${about.padEnd(ABOUT_WIDTH)}${first}`, ...rest.map((line) => `${" ".repeat(ABOUT_WIDTH)}${line}`)];
  });
  const hand = byHand.flatMap(({ why, line }) => [
    ...wrapped(why, width - 2).map((text) => `# ${text}`),
    ...broken(line.split(" "), width),
  ]);
  const sections = [
    found.flat(),
    ["# Commands", ...commands.flatMap((command) => commandLines(command, width))],
    ["# By hand", ...hand],
  ];
  return `${sections.map((lines) => lines.join("\n")).join("\n\n")}\n`;
}

/** A command as a user types it. */
export function commandLines({ tool, args, input }: ToolCommand, width: number): string[] {
  const lines = broken([tool, ...args.map(quoted)], width);
  if (input === undefined) return lines;
  const document = stringify(input).trimEnd().split("\n");
  return [...lines.slice(0, -1), `${lines.at(-1) ?? ""} <<'EOF'`, ...document, "EOF"];
}

const quoted = (word: string): string =>
  /^[\w./:=@,+-]+$/.test(word) ? word : `'${printable(word).replaceAll("'", "'\\''")}'`;

/** A command on lines that fit, with backslashes; a flag stays with its value. */
function broken(words: readonly string[], width: number): string[] {
  const parts: string[] = [];
  for (const word of words) {
    const last = parts.at(-1);
    if (last !== undefined && /^--[\w-]+$/.test(last) && !word.startsWith("-"))
      parts[parts.length - 1] = `${last} ${word}`;
    else parts.push(word);
  }
  const lines = packed(parts, width - " <<'EOF'".length);
  return lines.map((line, index) => `${index === 0 ? "" : "  "}${line}${index < lines.length - 1 ? " \\" : ""}`);
}

const wrapped = (text: string, width: number): string[] => packed(printable(text).split(" "), width);

function packed(words: readonly string[], width: number): string[] {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** Helm limits its own waiting with `--timeout`, so these only end tools that hang. */
const LIMITS: Readonly<Record<ToolCommand["tool"], Milliseconds>> = {
  helm: milliseconds(2 * 3_600_000),
  kubectl: milliseconds(120_000),
};

interface ToolOutput {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/** Runs the commands in order until one fails. Returns what failed. */
export async function runCommands(commands: readonly ToolCommand[], output: ToolOutput): Promise<string | undefined> {
  for (const command of commands) {
    output.out(`\n$ ${[command.tool, ...command.args.map(quoted)].join(" ")}\n`);
    const problem = await runTool(command, output);
    if (problem !== undefined) return `${problem}; once that is solved, repeat joulie install`;
  }
  return undefined;
}

async function runTool({ tool, args, input }: ToolCommand, { env, out, err }: ToolOutput): Promise<string | undefined> {
  const limit = LIMITS[tool];
  const child = spawn(tool, args, { env: { ...env }, timeout: limit });
  for (const [stream, write] of [[child.stdout, out] as const, [child.stderr, err] as const])
    stream.setEncoding("utf8").on("data", write);
  // A tool that ends early reads no more.
  child.stdin.on("error", () => undefined).end(input === undefined ? "" : stringify(input));
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  child.once("error", (error) => {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    resolve(isMissing ? `${tool} is not in the PATH` : `cannot run ${tool}: ${error.message}`);
  });
  child.once("close", (code, signal) => {
    if (code === 0) resolve(undefined);
    else if (signal === null) resolve(`${tool} ended with ${code}`);
    else resolve(`${tool} was ended by ${signal}${child.killed ? ` after ${formatDuration(limit)}` : ""}`);
  });
  return promise;
}
