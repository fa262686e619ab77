import { crdOf, kinds } from "../../src/core/api/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { EmbeddedApi } from "../../src/platform/embedded/index.ts";
import { seededRandom } from "../../src/platform/random/index.ts";
import { apiContract, type Started } from "./api-contract.ts";
import { reach } from "./reach.ts";

const embedded = () => new EmbeddedApi({ clock: systemClock, random: seededRandom(5), crds: kinds.map(crdOf) });

apiContract("embedded, in memory", async () => {
  const api = embedded();
  return { transport: api.transport(), stop: async () => api.close() };
});

async function overHttp(tls: boolean): Promise<Started> {
  const api = embedded();
  const { url, token, ca } = await api.listen(tls ? { tls: "self-signed" } : {});
  return { transport: reach(url, token, ca), stop: async () => api.close() };
}

apiContract("embedded, over HTTP", async () => overHttp(false));
apiContract("embedded, over HTTPS", async () => overHttp(true));
