import { apiContract } from "../contract/api-contract.ts";
import { reach } from "../contract/reach.ts";
import { startControlPlane } from "../controlplane/harness.ts";

apiContract("kube-apiserver", async () => {
  const plane = await startControlPlane({ controllerManager: true });
  const { server, token, ca } = plane.admin;
  return { transport: reach(server, token, ca), stop: async () => plane.stop() };
});
