import { afterEach, describe, expect, it } from "vitest";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { eventually, VirtualClock } from "../../../platform/clock/testing/index.ts";
import { createLogger } from "../../../platform/log/index.ts";
import { LiveFeed } from "../live/live-feed.ts";
import { DashboardAccess } from "./access.ts";
import { type DashboardServer, serveDashboard } from "./http-server.ts";

let server: DashboardServer | undefined;
afterEach(async () => server?.close());

const log = createLogger({ level: "info", format: "json", program: "test", destination: { write: () => undefined } });

describe("the stream of a client with a token", () => {
  it("DSH-04 is checked every minute, and no longer once the client has left during a check", async () => {
    const { clock, feed, verdicts, url } = await begin();
    const abort = new AbortController();
    const answer = fetch(`${url}/api/events`, { headers, signal: abort.signal });
    await eventually(() => verdicts.length === 1);
    verdicts[0]?.("allowed");
    expect((await answer).status).toBe(200);
    await clock.advanceAsync(milliseconds(60_000));
    expect(verdicts).toHaveLength(2);
    abort.abort();
    await eventually(() => feed.size === 0);
    verdicts[1]?.("allowed");
    await clock.advanceAsync(milliseconds(120_000));
    expect(verdicts).toHaveLength(2);
  });

  it("DSH-03 takes no place once the client has left before its token was checked", async () => {
    const { feed, verdicts, url } = await begin();
    const abort = new AbortController();
    const answer = fetch(`${url}/api/events`, { headers, signal: abort.signal });
    await eventually(() => verdicts.length === 1);
    abort.abort();
    await expect(answer).rejects.toThrow("aborted");
    // The server notices before it answers another client.
    const visit = async () => (await fetch(`${url}/no-such-page`)).text();
    await visit();
    verdicts[0]?.("allowed");
    await visit();
    expect(feed.size).toBe(0);
  });
});

/** A proxy's header: the request then counts as one from elsewhere. */
const headers = { authorization: "Bearer abc", "x-forwarded-for": "10.0.0.1" };

/** A server whose token checks wait for the test's verdicts. */
async function begin() {
  const clock = new VirtualClock(instant(Date.UTC(2030, 0, 1)));
  const feed = new LiveFeed({ epoch: "e", clients: 2 });
  const verdicts: ((verdict: "allowed") => void)[] = [];
  const access = new DashboardAccess({ check: async () => new Promise((resolve) => verdicts.push(resolve)) });
  server = await serveDashboard(
    {
      address: { host: "127.0.0.1", port: 0 },
      assets: new Map(),
      access,
      feed,
      pages: {},
      log,
      clock,
    },
    2,
  );
  return { clock, feed, verdicts, url: server.url };
}
