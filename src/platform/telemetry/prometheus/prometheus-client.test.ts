import { afterEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { systemClock } from "../../clock/index.ts";
import { type FakeReply, FakeServer, type Handler, vector } from "../testing/fake-server.ts";
import { PrometheusClient } from "./prometheus-client.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function open(handler: Handler, path = "") {
  const server = new FakeServer(handler);
  const port = await server.listen();
  const address = `http://127.0.0.1:${port}${path}`;
  const client = new PrometheusClient({ clock: systemClock, timeout: milliseconds(10_000), address });
  closers.push(
    async () => server.close(),
    async () => client.close(),
  );
  return { server, client };
}

describe("PrometheusClient", () => {
  it("sends a form to the path of the address", async () => {
    const { server, client } = await open(() => vector(1.5, [{ node: "a" }, "12.5"]), "/prometheus/");
    expect(await client.query('sum(x{a="b&c"})')).toEqual([{ labels: { node: "a" }, value: 12.5, at: 1500 }]);
    expect(server.received[0]).toMatchObject({
      method: "POST",
      path: "/prometheus/api/v1/query",
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    const form = new URLSearchParams(server.received[0]?.body);
    expect([...form]).toEqual([
      ["query", 'sum(x{a="b&c"})'],
      ["timeout", "10"],
    ]);
  });

  it("reads every value format, and NaN for anything else", async () => {
    const values = ["1e+03", "-0.5", "NaN", "+Inf", "-Inf", "", "0x10", "12 W"];
    const { client } = await open(() => vector(1, ...values.map((value) => [{}, value] as const)));
    const read = await client.query("x");
    expect(read.map(({ value }) => value)).toEqual([1000, -0.5, Number.NaN, Infinity, -Infinity, NaN, NaN, NaN]);
  });

  it("reads a scalar, an empty vector, and valid samples next to broken ones", async () => {
    const replies: Record<string, unknown> = {
      scalar: { resultType: "scalar", result: [2, "7"] },
      empty: { resultType: "vector", result: [] },
      mixed: {
        resultType: "vector",
        result: [{ metric: { node: "a" }, histogram: [1, {}] }, { metric: null, value: [1, 2] }, { value: [1, "3"] }],
      },
    };
    const { client } = await open(({ body }) => ({
      json: { status: "success", data: replies[new URLSearchParams(body).get("query") ?? ""] },
    }));
    expect(await client.query("scalar")).toEqual([{ labels: {}, value: 7, at: 2000 }]);
    expect(await client.query("empty")).toEqual([]);
    const mixed = await client.query("mixed");
    expect(mixed.map(({ labels, value }) => [labels, value])).toEqual([
      [{ node: "a" }, Number.NaN],
      [{}, Number.NaN],
      [{}, 3],
    ]);
  });

  const good = vector(1, [{ node: "a" }, "1"]).json;
  it.each<[string, FakeReply, string, RegExp]>([
    ["an HTTP status, whatever the body says", { status: 500, json: good }, "status", /: status 500$/],
    ["a proxy's page", { status: 502, text: "<h1>Bad Gateway</h1>" }, "status", /: status 502$/],
    [
      "an error response with its type",
      { status: 422, json: { status: "error", errorType: "execution", error: "too many samples" } },
      "status",
      /: status 422 execution$/,
    ],
    [
      "an error in a 200",
      { json: { status: "error", errorType: "timeout", error: "late" } },
      "status",
      /: status 200 timeout$/,
    ],
    ["a 200 that is no answer", { text: "<html>log in</html>" }, "garbled", /: the response is not an instant vector$/],
    ["a matrix", { json: { status: "success", data: { resultType: "matrix", result: [] } } }, "garbled", /vector/],
    ["JSON of something else", { json: { status: "success" } }, "garbled", /vector/],
    ["null", { json: null }, "garbled", /vector/],
  ])("X-64 rejects %s", async (_name, reply, kind, message) => {
    const { client } = await open(() => reply);
    await expect(client.query("x")).rejects.toMatchObject({ kind, message: expect.stringMatching(message) });
  });
});
