import { HttpTransport, type Transport } from "../../src/platform/kube/index.ts";

/** The product's own client for a server, authenticated by the token. */
export function reach(server: string, token: string, ca: string | undefined): Transport {
  const material = ca === undefined ? {} : { ca };
  return new HttpTransport({
    identity: {
      server,
      namespace: "default",
      headers: async () => ({ authorization: `Bearer ${token}` }),
      tls: async () => material,
      refused: () => undefined,
    },
    connections: 32,
  });
}
