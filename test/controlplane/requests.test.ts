import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { auditEnd, newRequests, readAudit, requestCounts } from "./requests.ts";

const line = (verb: string, code: string, dryRun: string, count: string) =>
  `apiserver_request_total{code="${code}",component="apiserver",dry_run="${dryRun}",group="joulie.io",resource="nodetwins",scope="resource",subresource="status",verb="${verb}",version="v1alpha1"} ${count}`;
const entry = { group: "joulie.io", resource: "nodetwins", subresource: "status" };

describe("counts of requests", () => {
  it("sums series over the labels that were not requested, and ignores other series", () => {
    const text = ["# HELP x", line("APPLY", "200", "", "3"), line("APPLY", "200", "All", "1e+01"), "up 1"].join("\n");
    expect(requestCounts(text)).toEqual([{ ...entry, verb: "APPLY", code: "200", count: 13 }]);
    expect(requestCounts("")).toEqual([]);
  });

  it("are reported as the difference between two scrapes", () => {
    const before = requestCounts([line("APPLY", "200", "", "3"), line("GET", "200", "", "5")].join("\n"));
    const after = requestCounts(
      [line("APPLY", "200", "", "4"), line("GET", "200", "", "5"), line("GET", "404", "", "2")].join("\n"),
    );
    expect(newRequests(before, after)).toEqual([
      { ...entry, verb: "APPLY", code: "200", count: 1 },
      { ...entry, verb: "GET", code: "404", count: 2 },
    ]);
  });
});

describe("the audit log", () => {
  it("is read from a mark on, whatever characters are before it", () => {
    const folder = mkdtempSync(join(tmpdir(), "joulie-audit-"));
    const file = join(folder, "audit.jsonl");
    const event = (name: string) =>
      `${JSON.stringify({ stage: "ResponseComplete", verb: "get", requestURI: `/${name}`, user: { username: "é…" }, requestReceivedTimestamp: "2030-01-01T00:00:00Z" })}\n`;
    try {
      expect([auditEnd(file), readAudit(file)]).toEqual([0, []]);
      appendFileSync(file, event("first") + event("second").slice(0, 30));
      const mark = auditEnd(file);
      appendFileSync(file, event("second").slice(30));
      expect(readAudit(file, mark).map(({ path }) => path)).toEqual(["/second"]);
      expect(readAudit(file).map(({ path }) => path)).toEqual(["/first", "/second"]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
