/** The facts that decide which connections to close first. Times are from one monotonic clock, in ms. */
export interface ConnectionFacts {
  readonly openedAt: number;
  /** When the last request started or ended. */
  readonly usedAt: number;
  /** The connection has completed a request. */
  readonly isProven: boolean;
  /** The client has sent bytes of a TLS handshake or of a header. */
  readonly hasSent: boolean;
  /** The state of the current request: `receiving` until its body is complete. */
  readonly request: "none" | "receiving" | "answering";
}

/** The time for the first request before a connection counts as silent, and for the body of a request. */
const GRACE = 1000;

export interface EvictionOrder<Connection> {
  /** Silent connections, idle ones beyond the reserve, stalled requests, then connections without a complete request. */
  readonly expendable: Connection[];
  /** Idle connections within the reserve, then those whose request is being answered, newest first. */
  readonly reserved: Connection[];
}

/**
 * Sorts connections by which to close first. Connections that completed a request have their own reserve, so that opening many
 * sockets never disconnects a regular client.
 */
export function evictionOrder<Connection extends ConnectionFacts>(
  connections: Iterable<Connection>,
  now: number,
  reserve: number,
): EvictionOrder<Connection> {
  const ranks = Map.groupBy(connections, (connection) => rankOf(connection, now));
  const sorted = (rank: Rank, by: "openedAt" | "usedAt") =>
    (ranks.get(rank) ?? []).toSorted((one, other) => one[by] - other[by]);
  const idle = sorted("idle", "usedAt");
  const beyondReserve = Math.max(0, idle.length - reserve);
  return {
    expendable: [
      ...sorted("silent", "openedAt"),
      ...idle.slice(0, beyondReserve),
      ...sorted("stalled", "usedAt"),
      ...sorted("new", "openedAt"),
      ...sorted("greeting", "openedAt"),
      ...sorted("receiving", "usedAt"),
    ],
    reserved: [
      ...idle.slice(beyondReserve),
      ...sorted("answering", "openedAt").toReversed(),
      ...sorted("proven", "openedAt").toReversed(),
    ],
  };
}

/** `new` has sent nothing, `greeting` has started a header, `proven` has a request in progress and completed others before. */
type Rank = "silent" | "idle" | "stalled" | "new" | "greeting" | "receiving" | "answering" | "proven";

function rankOf({ openedAt, usedAt, isProven, hasSent, request }: ConnectionFacts, now: number): Rank {
  if (request === "receiving" && now - usedAt > GRACE) return "stalled";
  if (request !== "none") return isProven ? "proven" : request;
  if (isProven) return "idle";
  if (now - openedAt > GRACE) return "silent";
  return hasSent ? "greeting" : "new";
}
