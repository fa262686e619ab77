// node extender-client.ts URL: asks an extender until standard input ends, then prints how often it answered.
import { request } from "undici";
import { simulatedDelay } from "../../src/platform/clock/testing/index.ts";

const [url = ""] = process.argv.slice(2);
const question = JSON.stringify({ pod: { metadata: { name: "p", namespace: "default" } }, nodenames: ["n1"] });
let answered = 0;
const failures: string[] = [];
const ended = new AbortController();
process.stdin.on("end", () => ended.abort()).resume();
while (!ended.signal.aborted) {
  try {
    // A new connection each time, so that the Service chooses a pod each time.
    const headers = { "content-type": "application/json", connection: "close" };
    const { statusCode, body } = await request(`${url}/filter`, { method: "POST", body: question, headers });
    const text = await body.text();
    if (statusCode === 200 && text.includes('"n1"')) answered++;
    else failures.push(`${statusCode} ${text}`);
  } catch (error) {
    failures.push(String(error));
  }
  await simulatedDelay(50);
}
process.stdout.write(JSON.stringify({ answered, failures }));
