// A trivial extender in a separate process: with names it accepts all nodes with equal scores; with whole Nodes
// (`echo`) it returns the bytes of the request's list, the minimum possible work.
import { createServer } from "node:http";

const [kind = "names"] = process.argv.slice(2);
const failed = '"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""}';

/** kube-scheduler writes `{"Pod":…,"Nodes":…,"NodeNames":null}`, so the list is the second to last field. */
function echo(url: string | undefined, body: Buffer): readonly Buffer[] {
  if (url !== "/filter") return [Buffer.from("[]")];
  const list = body.subarray(body.indexOf(',"Nodes":') + 9, body.lastIndexOf(',"NodeNames":'));
  return [Buffer.from('{"Nodes":'), list, Buffer.from(`,"NodeNames":null,${failed}`)];
}

function names(url: string | undefined, body: Buffer): readonly Buffer[] {
  const { NodeNames } = JSON.parse(body.toString()) as { NodeNames: readonly string[] };
  const answer =
    url === "/filter"
      ? `{"Nodes":null,"NodeNames":${JSON.stringify(NodeNames)},${failed}`
      : JSON.stringify(NodeNames.map((Host) => ({ Host, Score: 50 })));
  return [Buffer.from(answer)];
}

createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    if (request.method !== "POST") {
      response.end();
      return;
    }
    const answer = (kind === "echo" ? echo : names)(request.url, Buffer.concat(chunks));
    const length = answer.reduce((sum, piece) => sum + piece.length, 0);
    response.writeHead(200, { "content-type": "application/json", "content-length": length });
    for (const piece of answer) response.write(piece);
    response.end();
  });
}).listen(Number(process.env["PORT"] ?? "0"), "127.0.0.1");
