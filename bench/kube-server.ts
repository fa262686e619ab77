// The server of bench/kube.ts in a separate process: fixed replies over loopback, so that only the client is
// measured.
import { createServer, type Socket } from "node:net";
import { bigNode, bigPod } from "./kube-objects.ts";

const NODES = 5000;
const PODS = 50_000;
const EVENTS = 40_000;
/** Watch events per write. */
const WATCH_BLOCK = 64;

const answer = (body: string | Buffer) => {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${bytes.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), bytes]);
};

const listOf = (kind: string, items: readonly string[], next?: string) =>
  answer(
    `{"kind":"${kind}List","apiVersion":"v1","metadata":{"resourceVersion":"1000000"${next === undefined ? "" : `,"continue":"${next}"`}},"items":[${items.join(",")}]}`,
  );

/** All list pages by request path: unpaged, and in pages of 500. */
function pagesOf(path: string, kind: string, items: () => readonly string[]) {
  let made: Map<string, Buffer> | undefined;
  return (query: URLSearchParams): Buffer | undefined => {
    const limit = Number(query.get("limit") ?? "0");
    const from = Number(query.get("continue") ?? "0");
    const key = `${path} ${limit} ${from}`;
    made ??= new Map();
    let page = made.get(key);
    if (page === undefined) {
      const all = items();
      const end = limit === 0 ? all.length : from + limit;
      page = listOf(kind, all.slice(from, end), end < all.length ? String(end) : undefined);
      made.set(key, page);
    }
    return page;
  };
}

const lazily = <Value>(make: () => Value) => {
  let value: Value | undefined;
  return () => (value ??= make());
};
const nodes = lazily(() => Array.from({ length: NODES }, (_, index) => JSON.stringify(bigNode(index, 1000 + index))));
const pods = lazily(() => Array.from({ length: PODS }, (_, index) => JSON.stringify(bigPod(index, 1000 + index))));
const lists: Readonly<Record<string, (query: URLSearchParams) => Buffer | undefined>> = {
  "/api/v1/nodes": pagesOf("nodes", "Node", nodes),
  "/api/v1/pods": pagesOf("pods", "Pod", pods),
};

const events = lazily(() => {
  const lines = Array.from(
    { length: EVENTS },
    (_, index) => `${JSON.stringify({ type: "MODIFIED", object: bigPod(index % 1000, 2_000_000 + index) })}\n`,
  );
  const chunk = (text: string) => {
    const bytes = Buffer.from(text);
    return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
  };
  const blocks: Buffer[] = [];
  for (let from = 0; from < lines.length; from += WATCH_BLOCK)
    blocks.push(chunk(lines.slice(from, from + WATCH_BLOCK).join("")));
  return blocks;
});
const patched = answer(
  JSON.stringify(bigNode(0, 1))
    .slice(0, 1500)
    .replace(/.*/, () => JSON.stringify(smallTwin())),
);

function smallTwin() {
  return {
    apiVersion: "joulie.io/v1alpha1",
    kind: "NodeTwin",
    metadata: { name: "node-1", uid: "u", resourceVersion: "5" },
    spec: { nodeName: "node-1", profile: "eco", cpu: { packagePowerCapPctOfMax: 60 } },
    status: { schedulableClass: "eco", predictedPowerHeadroomScore: 41.2 },
  };
}

let connections = 0;

const server = createServer((socket) => {
  connections++;
  socket.setNoDelay(true);
  socket.on("error", () => undefined);
  let buffered = "";
  socket.on("data", (data: Buffer) => {
    buffered += data.toString("latin1");
    for (;;) {
      const end = buffered.indexOf("\r\n\r\n");
      if (end < 0) return;
      const head = buffered.slice(0, end);
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? "0");
      const chunked = /transfer-encoding: chunked/i.test(head);
      const bodyEnd = chunked ? buffered.indexOf("0\r\n\r\n", end + 4) + 5 : end + 4 + length;
      if ((chunked && bodyEnd === 4) || buffered.length < bodyEnd) return;
      buffered = buffered.slice(bodyEnd);
      respond(socket, head.slice(0, head.indexOf("\r\n")), /connection: close/i.test(head));
    }
  });
});

function respond(socket: Socket, line: string, close: boolean): void {
  const [method = "", target = ""] = line.split(" ");
  const { pathname, searchParams } = new URL(target, "http://x");
  if (method === "PATCH") socket.write(patched);
  else if (pathname === "/connections") socket.write(answer(JSON.stringify({ connections })));
  else if (pathname === "/prepare") {
    for (const prepare of [nodes, pods, events]) prepare();
    socket.write(answer("{}"));
  } else if (searchParams.has("watch")) {
    void stream(socket, pathname === "/api/v1/pods" && !searchParams.has("labelSelector"));
    return;
  } else socket.write(lists[pathname]?.(searchParams) ?? answer(JSON.stringify({ kind: "Status", code: 404 })));
  if (close) socket.end();
}

/** Writes as fast as the client reads, then stays open like a watch. */
async function stream(socket: Socket, withEvents: boolean): Promise<void> {
  socket.write("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n");
  if (!withEvents) return;
  for (const block of events()) {
    if (!socket.write(block)) await new Promise((resolve) => socket.once("drain", resolve));
    if (socket.destroyed) return;
  }
}

server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.send?.({ port: typeof address === "object" ? address?.port : 0, events: EVENTS, nodes: NODES, pods: PODS });
});
process.on("disconnect", () => process.exit(0));
