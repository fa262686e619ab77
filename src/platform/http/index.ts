import type { Dispatcher, Pool as WholePool } from "undici";
import request from "undici/lib/api/api-request.js";
import buildConnector from "undici/lib/core/connect.js";
import Agent from "undici/lib/dispatcher/agent.js";
import Pool from "undici/lib/dispatcher/pool.js";

export { isLoopbackAddress, isLoopbackHost } from "./loopback.ts";
export type { Dispatcher };
/**
 * The four parts of undici that every program needs, by their files: its index also loads fetch, caches, cookies, WebSockets,
 * proxies and mocks, and an agent on each node of a cluster would hold all of them in memory. The version is pinned, and the
 * tests of the clients in ../kube and ../telemetry go through here.
 */
export { Agent, buildConnector, Pool };
export type PoolOptions = WholePool.Options;

/** One request over a pool or an agent; the answer's body is still under way. */
export async function send(
  over: Pick<Dispatcher, "dispatch">,
  options: Dispatcher.RequestOptions,
): Promise<Dispatcher.ResponseData> {
  return request.call(over, options);
}
