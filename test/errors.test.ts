import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { errorCodes } from "../src/core/api/index.ts";

const root = join(import.meta.dirname, "..");
const LIST = "src/core/api/error-codes.ts";

/** Production sources by path: no tests, no test fixtures. */
const sources = new Map(
  ["src", "bin"]
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((path) => `${folder}/${path}`),
    )
    .filter((path) => /\.(ts|mjs)$/.test(path) && !/\.test\.ts$|\/testing\//.test(path))
    .map((path) => [path, readFileSync(join(root, path), "utf8")]),
);

/** Error classes that no user sees: a caller handles them, or they become the status of an HTTP response. */
const INTERNAL_CLASSES = new Set([
  "BadRequestError", // an HTTP answer of the dashboard
  "ClientGoneError", // the client closed the connection
  "HostFileError", // becomes the message of a blocked or failed cap
  "HttpError", // an HTTP answer of the extender
  "MemoryBudgetError", // becomes a 503 answer of the extender
  "NoNodeFitsError", // becomes the PodScheduled condition of the embedded scheduler
  "NotEmpty", // ends a sleep of the power program
  "NvmlError", // becomes the message of a blocked or failed cap
  "FailedStep", // carries the error of a write to the operator's queue
  "QueryError", // an HTTP answer of the fleet
  "RequestError", // an HTTP answer of the extender
  "WriteSuperseded", // the operator plans the node again
  "StatusError", // an HTTP answer of the embedded API server
]);

describe("error codes", () => {
  it.each(errorCodes)("%s is used by a program", (code) => {
    const users = [...sources].filter(([path, text]) => path !== LIST && text.includes(code));
    expect(users.map(([path]) => path)).not.toEqual([]);
  });

  it("are listed if a source file names them", () => {
    const named = [...sources.values()].flatMap((text) => text.match(/\bJOULIE_E_[A-Z_]*[A-Z]\b/g) ?? []);
    expect(new Set(named)).toEqual(new Set(errorCodes));
  });

  it("are carried by every error class that a user can see", () => {
    const classes = [...sources.values()].flatMap((text) =>
      [...text.matchAll(/class (\w+) extends (?:Type|Range)?Error\b/g)].map(([, name = ""]) => name),
    );
    expect(classes.filter((name) => name !== "CodedError" && !INTERNAL_CLASSES.has(name))).toEqual([]);
  });

  it("are in every error and fatal log line: as a field, or from the logged error", () => {
    const calls = [...sources].flatMap(([path, text]) =>
      [...text.matchAll(/\blog\.(?:error|fatal)\(([^"`]*)/g)].map(([, fields = ""]) => ({ path, fields })),
    );
    expect(calls.length).toBeGreaterThan(5);
    expect(calls.filter(({ fields }) => !/\b(code|err)\b/.test(fields))).toEqual([]);
  });

  it("are described on the reference page, each with its cause and its remedy in whole sentences", () => {
    const page = readFileSync(join(root, "docs/reference/errors.md"), "utf8");
    const sections = page.split("\n### ").slice(1);
    const described = sections.map((section) => section.split("\n", 1)[0]);
    expect(new Set(described)).toEqual(new Set(errorCodes));
    expect(described).toHaveLength(errorCodes.length);
    for (const section of sections) {
      expect(section).toMatch(/\n\n\*\*Cause\.\*\* [A-Z][^]*?\.\n\n\*\*What to do\.\*\* [A-Z`][^]*?\.\n/);
    }
  });
});
