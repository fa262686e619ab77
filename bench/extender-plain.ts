// A plain extender in a separate process, for comparison: JSON.parse, the literal formula on objects, JSON.stringify.
import { createServer } from "node:http";
import type { Node as ApiNode } from "../src/core/api/index.ts";
import { demandOf, workloadClassOf } from "../src/core/demand/index.ts";
import { hardwareView } from "../src/core/inventory/index.ts";
import { batchOf, defaultScoringSettings, filterNode, scoreNode, twinStateOf } from "../src/core/scoring/index.ts";
import { instant } from "../src/core/units/index.ts";
import { nodeOf, twinStatusOf } from "./extender-cluster.ts";

const [count = "0"] = process.argv.slice(2);
const begun = new Date().toISOString();
const known = new Map(
  Array.from({ length: Number(count) }, (_, index) => {
    const node = nodeOf(index);
    const candidate = {
      twin: twinStateOf(twinStatusOf(index, begun)),
      hardware: hardwareView(node as unknown as ApiNode, undefined),
      labels: node.metadata.labels as Readonly<Record<string, string>>,
    };
    return [node.metadata.name, candidate] as const;
  }),
);

type Node = ReturnType<typeof nodeOf>;
interface Request {
  readonly Pod: Parameters<typeof demandOf>[0];
  readonly Nodes: { readonly items: readonly Node[] } | null;
  readonly NodeNames: readonly string[] | null;
}

function filter({ Pod, Nodes, NodeNames }: Request): object {
  const { workloadClass } = workloadClassOf(Pod);
  const failed: Record<string, string> = {};
  const passes = (name: string): boolean => {
    const node = known.get(name);
    const reason = filterNode(workloadClass, node?.twin, node?.labels["joulie.io/power-profile"]);
    if (reason !== undefined) failed[name] = reason;
    return reason === undefined;
  };
  const items = Nodes?.items.filter(({ metadata }) => passes(metadata.name));
  return {
    Nodes: items === undefined ? null : { metadata: {}, items },
    NodeNames: NodeNames?.filter(passes) ?? null,
    FailedNodes: {},
    FailedAndUnresolvableNodes: failed,
    Error: "",
  };
}

function prioritize({ Pod, Nodes, NodeNames }: Request): object {
  const asked = { demand: demandOf(Pod), workloadClass: workloadClassOf(Pod).workloadClass };
  const now = instant(Date.now());
  const twins = Array.from(known.values(), ({ twin }) => twin);
  const batch = batchOf(twins, now, defaultScoringSettings);
  const names = Nodes?.items.map(({ metadata }) => metadata.name) ?? NodeNames ?? [];
  return names.map((Host) => {
    const node = known.get(Host);
    const Score = node === undefined ? 50 : scoreNode(asked, node, batch, defaultScoringSettings).score;
    return { Host, Score };
  });
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    if (request.method !== "POST") {
      response.end();
      return;
    }
    const asked = JSON.parse(Buffer.concat(chunks).toString()) as Request;
    const body = Buffer.from(JSON.stringify(request.url === "/filter" ? filter(asked) : prioritize(asked)));
    response.writeHead(200, { "content-type": "application/json", "content-length": body.length }).end(body);
  });
});
server.listen(Number(process.env["PORT"] ?? "0"), "127.0.0.1");
