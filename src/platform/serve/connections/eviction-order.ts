/** What a server knows of a connection when it has to decide which ones to close. Times are of one monotonic clock, in ms. */
export interface ConnectionFacts {
  readonly openedAt: number;
  /** When its last request began or ended. */
  readonly usedAt: number;
  /** It completed a request before. */
  readonly isProven: boolean;
  /** It has sent bytes, of a TLS handshake or of a header. */
  readonly hasSent: boolean;
  /** The request under way, if any: `receiving` until its body is whole. */
  readonly request: "none" | "receiving" | "answering";
}

/** So long a connection may take for its first request before it counts as silent, and a request for its body. */
const GRACE = 1000;

export interface EvictionOrder<Connection> {
  /** Silent ones, then idle ones beyond the reserve, then stalled requests, then what has not sent a whole request yet. */
  readonly expendable: Connection[];
  /** Idle ones that completed a request before, then those whose request is being answered, the newest first. */
  readonly reserved: Connection[];
}

/**
 * Which connections to close first. Those that completed a request before have a reserve of their own, so that opening sockets
 * never disconnects a client that asks regularly.
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

/** `new` has sent nothing yet, `greeting` has begun a header; `proven` has a request under way, and had others before. */
type Rank = "silent" | "idle" | "stalled" | "new" | "greeting" | "receiving" | "answering" | "proven";

function rankOf({ openedAt, usedAt, isProven, hasSent, request }: ConnectionFacts, now: number): Rank {
  if (request === "receiving" && now - usedAt > GRACE) return "stalled";
  if (request !== "none") return isProven ? "proven" : request;
  if (isProven) return "idle";
  if (now - openedAt > GRACE) return "silent";
  return hasSent ? "greeting" : "new";
}
