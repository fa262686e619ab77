// What the dashboard does with its variables.
import { existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { isoTime } from "../../src/core/units/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import type { RawValues } from "../../src/platform/config/index.ts";
import { resources } from "../../src/platform/kube/index.ts";
import { DashboardHarness } from "../../src/programs/dashboard/testing/dashboard-harness.ts";
import type {
  HistoryAnswer,
  NodeAnswer,
  SavingsAnswer,
  ScoreAnswer,
  Snapshot,
} from "../../src/programs/dashboard/wire.ts";

/** In a value: the folder of the test, and the address of a server that plays Prometheus, extender and operator. */
export const FOLDER = "/folder.test";
export const SERVER = "http://server.test";

const CATALOGUE =
  "cpus: [{ key: test-cpu, vendor: test, aliases: [Test-CPU], coresPerSocket: 64, tdpWatts: 1000, baseGHz: 2 }]";

const pages: Readonly<Record<string, unknown>> = {
  "/api/v1/query_range": { status: "success", data: { resultType: "matrix", result: [] } },
  "/debug/plan": { reason: "by the operator's plan" },
  "/debug/decisions": {
    decisions: [
      {
        at: "2030-01-01T00:00:00Z",
        verb: "prioritize",
        pod: { namespace: "default", name: "p" },
        workloadClass: "standard",
        candidates: 3,
        best: [{ node: "a", score: 77 }],
      },
    ],
  },
};

async function observed<Result>(
  variables: RawValues,
  look: (harness: DashboardHarness) => Promise<Result>,
): Promise<Result> {
  const harness = await DashboardHarness.begin();
  const server = createServer((request, response) => {
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    const isClosed = path.startsWith("/closed/") && request.headers.authorization !== "Bearer s3cret";
    const page = isClosed ? undefined : pages[path.replace("/closed/", "/")];
    response.writeHead(page === undefined ? 404 : 200).end(JSON.stringify(page ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    writeFileSync(join(harness.folder, "catalogue.yaml"), CATALOGUE);
    writeFileSync(join(harness.folder, "token"), "s3cret");
    await harness.createNode("a", { labels: { "joulie.io/hw.cpu-model": "Test-CPU" } });
    const own = Object.entries(variables).map(([name, text = ""]) => [
      name,
      text.replace(FOLDER, harness.folder).replace(SERVER, at),
    ]);
    await harness.start(Object.fromEntries(own) as RawValues);
    return await look(harness);
  } finally {
    await harness.end();
    server.closeAllConnections();
    server.close();
  }
}

const synced = ({ syncing, totals }: Snapshot): boolean => syncing.length === 0 && totals.nodes === 1;
const json = async <Answer>(harness: DashboardHarness, path: string): Promise<Answer> =>
  (await (await harness.get(path)).json()) as Answer;

export const servedAt = async (variables: RawValues) => observed(variables, async ({ url }) => new URL(url).hostname);

/** Whether metrics are served on the IPv6 loopback. */
export const metricsAt = async (variables: RawValues) =>
  observed(
    variables,
    async (harness) => /"metrics":"http:\/\/(\[::1\]|127\.0\.0\.1)/.exec(harness.logLines.join(""))?.[1],
  );

/** Whether a twin of two minutes ago is a problem. */
export const findsOldTwin = async (variables: RawValues) =>
  observed(variables, async (harness) => {
    await harness.createNode("ancient");
    for (const [name, minutes] of [
      ["a", 2],
      ["ancient", 1000],
    ] as const) {
      const lastUpdated = isoTime((systemClock.now() - minutes * 60_000) as ReturnType<typeof systemClock.now>);
      await harness.user.mergePatch(
        resources.nodeTwins,
        { name },
        { status: { lastUpdated } },
        { subresource: "status" },
      );
    }
    const oldTwins = ({ problems }: Snapshot) => problems.find(({ title }) => /refresh/i.test(title))?.nodes;
    const found = await harness.until((snapshot) => oldTwins(snapshot)?.includes("ancient") === true);
    return oldTwins(found)?.includes("a");
  });

export const formula = async (variables: RawValues) =>
  observed(variables, async (harness) => {
    await harness.until(synced);
    return (await json<ScoreAnswer>(harness, "/api/score?node=a")).formula;
  });

/** The watts that a pod of 32 CPUs adds, in words. */
export const addedWatts = async (variables: RawValues) =>
  observed(variables, async (harness) => {
    await harness.until(synced);
    const { words } = await json<ScoreAnswer>(harness, "/api/score?node=a&cpus=32");
    return /adds about (\S+) W/.exec(words.join(" "))?.[1];
  });

export const savedFile = async (variables: RawValues) =>
  observed(variables, async (harness) => {
    await harness.until(synced);
    await harness.stop();
    return existsSync(join(harness.folder, "history.json"));
  });

export const sourceOfTwoDays = async (variables: RawValues) =>
  observed(variables, async (harness) => {
    const answer = await harness.get("/api/history?hours=48");
    return answer.status === 200 ? ((await answer.json()) as HistoryAnswer).source : answer.status;
  });

export const placements = async (variables: RawValues) =>
  observed(variables, async (harness) => {
    const isAsked = "EXTENDER_URL" in variables;
    const { decisions } = await harness.until((now) => synced(now) && (!isAsked || now.decisions.length > 0));
    return decisions.map(({ subject, node }) => `${subject} on ${node}`);
  });

/** The reason from an operator that wants a token. */
export const reasonForToken = async (variables: RawValues) =>
  reason({ ...variables, OPERATOR_URL: `${SERVER}/closed` });

export const reason = async (variables: RawValues) =>
  observed(variables, async (harness) => {
    await harness.until(synced);
    return (await json<NodeAnswer>(harness, "/api/node/a")).reason;
  });

/** Which of money and carbon the savings panel shows, and by which factors. */
export const factors = async (variables: RawValues) =>
  observed(variables, async (harness) => {
    const { cost, carbonKg, factors: words } = await json<SavingsAnswer>(harness, "/api/savings");
    return [cost?.currency ?? null, carbonKg !== null, words];
  });
