// A node's HTTPS service with a certificate that clients do not trust by default.
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { selfSigned } from "../../src/platform/embedded/api/certificate.ts";

/** Accepts every command and records its Authorization header. */
export async function serveSecurely() {
  const { key, cert } = selfSigned();
  const authorizations: (string | undefined)[] = [];
  const server = createServer({ key, cert }, (request, response) => {
    authorizations.push(request.headers.authorization);
    request.resume();
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ result: "applied", message: "", state: {} }));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    certificate: cert,
    authorizations,
    close: async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
