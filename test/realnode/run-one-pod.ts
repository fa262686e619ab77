// Starts a real node and a pod on it, prints the node's folder, and waits to be killed.
import { startRealNode } from "./node.ts";

const node = await startRealNode();
const path = "/api/v1/namespaces/default/pods";
await node.until("the default ServiceAccount exists", async () => {
  await node.api.get("/api/v1/namespaces/default/serviceaccounts/default");
  return true;
});
await node.api.create(path, {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "first" },
  spec: { containers: [{ name: "main", image: "localhost/pause:1", imagePullPolicy: "Never" }] },
});
await node.until("the pod runs", async () => {
  const { status } = await node.api.get<{ status: { phase: string } }>(`${path}/first`);
  return status.phase === "Running";
});
process.stdout.write(`${node.folder}\n`);
setInterval(() => {}, 60_000);
