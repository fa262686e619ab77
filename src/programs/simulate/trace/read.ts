import { type FileHandle, open } from "node:fs/promises";
import { createGunzip } from "node:zlib";
import { fail, ok, parseNumber, type Result } from "../../../core/units/index.ts";
import { JOB_LIMITS, type JobRow, MAX_JOBS, type Trace, TraceBuilder } from "./trace.ts";

const MAX_LINE_LENGTH = 4096;

interface Column {
  readonly name: keyof JobRow;
  readonly allowed: string;
  readonly holds: (value: number) => boolean;
}

const isShare = (value: number): boolean => value >= 0 && value <= 1;
const columns: readonly Column[] = [
  {
    name: "submitSec",
    allowed: `seconds from the start, 0 to ${JOB_LIMITS.seconds}`,
    holds: (value) => value >= 0 && value <= JOB_LIMITS.seconds,
  },
  {
    name: "cores",
    allowed: `cores, 0 to ${JOB_LIMITS.cores}`,
    holds: (value) => value >= 0 && value <= JOB_LIMITS.cores,
  },
  {
    name: "gpus",
    allowed: `whole GPUs, 0 to ${JOB_LIMITS.gpus}`,
    holds: (value) => Number.isInteger(value) && value >= 0 && value <= JOB_LIMITS.gpus,
  },
  { name: "performance", allowed: "1 (performance) or 0 (standard)", holds: (value) => value === 0 || value === 1 },
  { name: "cpuUtil", allowed: "a share from 0 to 1", holds: isShare },
  { name: "gpuUtil", allowed: "a share from 0 to 1", holds: isShare },
  {
    name: "durationSec",
    allowed: `seconds, 0 to ${JOB_LIMITS.seconds}`,
    holds: (value) => value >= 0 && value <= JOB_LIMITS.seconds,
  },
];

export interface ReadLimits {
  readonly maxJobs: number;
}

/** Parses a trace from a stream. Errors name the line, the problem and the expected value. */
export async function readTrace(
  texts: AsyncIterable<string>,
  { maxJobs }: ReadLimits = { maxJobs: MAX_JOBS },
): Promise<Result<Trace, string>> {
  const reader = new TraceReader(maxJobs);
  let rest = "";
  for await (const text of texts) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const problem = reader.line(line);
      if (problem !== undefined) return fail(problem);
    }
    if (rest.length > MAX_LINE_LENGTH)
      return fail(`line ${reader.read + 1}: longer than ${MAX_LINE_LENGTH} characters`);
  }
  const problem = rest === "" ? undefined : reader.line(rest);
  return problem === undefined ? reader.end() : fail(problem);
}

class TraceReader {
  readonly #jobs = new TraceBuilder();
  readonly #maxJobs: number;
  #places: readonly number[] | undefined;
  #width = 0;
  #lastSubmit = 0;
  read = 0;

  constructor(maxJobs: number) {
    this.#maxJobs = maxJobs;
  }

  /** Returns the problem of a line, if any. */
  line(text: string): string | undefined {
    this.read++;
    // Blank lines count as well, because a compressed file can contain any number of them.
    if (this.read > 2 * this.#maxJobs + 2) return this.#wrong("more lines than a trace can have");
    const line = text.trim();
    if (line === "") return undefined;
    if (line.length > MAX_LINE_LENGTH) return this.#wrong(`longer than ${MAX_LINE_LENGTH} characters`);
    const cells = line.split(",");
    return this.#places === undefined ? this.#header(cells) : this.#job(cells, this.#places);
  }

  end(): Result<Trace, string> {
    if (this.#places === undefined) return fail(`it is empty; expected a header line with ${names()}`);
    // A run without jobs would report savings of 0 %, which misleads.
    if (this.#jobs.length === 0)
      return fail("it has a header and no jobs; expected a line for each job below the header");
    return ok(this.#jobs.build());
  }

  #header(cells: readonly string[]): string | undefined {
    const found = cells.map((cell) => cell.trim());
    const missing = columns.filter(({ name }) => !found.includes(name)).map(({ name }) => name);
    if (missing.length > 0) return this.#wrong(`the header has no ${missing.join(", ")}; expected ${names()}`);
    this.#places = columns.map(({ name }) => found.indexOf(name));
    this.#width = found.length;
    return undefined;
  }

  #job(cells: readonly string[], places: readonly number[]): string | undefined {
    if (cells.length !== this.#width) {
      return this.#wrong(`${cells.length} columns where the header has ${this.#width}`);
    }
    if (this.#jobs.length === this.#maxJobs) return this.#wrong(`more than ${this.#maxJobs} jobs`);
    const values: Record<string, number> = {};
    for (const [index, { name, allowed, holds }] of columns.entries()) {
      const cell = cells[places[index] ?? -1] ?? "";
      const parsed = parseNumber(cell.trim());
      if (!parsed.ok || !holds(parsed.value)) {
        return this.#wrong(`${name} is ${JSON.stringify(cell.slice(0, 40))}; expected ${allowed}`);
      }
      values[name] = parsed.value;
    }
    const { submitSec = 0, cores = 0, gpus = 0, performance, cpuUtil = 0, gpuUtil = 0, durationSec = 0 } = values;
    if (submitSec < this.#lastSubmit) {
      return this.#wrong(
        `submitSec ${submitSec} is before ${this.#lastSubmit} of an earlier job; sort the trace by it`,
      );
    }
    this.#lastSubmit = submitSec;
    this.#jobs.add({ submitSec, cores, gpus, performance: performance === 1, cpuUtil, gpuUtil, durationSec });
    return undefined;
  }

  #wrong(what: string): string {
    return `line ${this.read}: ${what}`;
  }
}

const names = (): string => columns.map(({ name }) => name).join(",");

/** Reads a CSV file. Compression is detected from the first bytes, not the name. */
export async function openTrace(path: string): Promise<Result<Trace, string>> {
  try {
    await using file = await open(path);
    const result = await readTrace(await textsOf(file));
    return result.ok ? result : fail(`${path}: ${result.error}`);
  } catch (error) {
    return fail(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function textsOf(file: FileHandle): Promise<AsyncIterable<string>> {
  const compressed = await isGzip(file);
  const bytes = file.createReadStream({ start: 0, autoClose: false });
  if (!compressed) return bytes.setEncoding("utf8");
  const unpacked = createGunzip();
  bytes.on("error", (error) => unpacked.destroy(error));
  // A parse error ends reading before the end of the file.
  unpacked.on("close", () => bytes.destroy());
  return bytes.pipe(unpacked).setEncoding("utf8");
}

async function isGzip(file: FileHandle): Promise<boolean> {
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(2), position: 0 });
  return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
}
