import { afterEach, beforeEach, expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { systemClock } from "../clock/index.ts";
import { FakeHttpServer } from "./testing/fake-http-server.ts";
import { WebhookSwitch } from "./webhook-switch.ts";

const never = new AbortController().signal;
const confirmed = async (): Promise<void> => undefined;
const options = { clock: systemClock, timeout: milliseconds(5000), node: "worker-1" };
let server: FakeHttpServer;
let url: string;
let machine: WebhookSwitch;
beforeEach(async () => {
  server = new FakeHttpServer(({ method }) => (method === "GET" ? { json: { state: "on" } } : { status: 202 }));
  url = await server.listen();
  machine = new WebhookSwitch({ ...options, endpoint: { url }, token: "t0ken" });
});
afterEach(async () => {
  await machine.close();
  await server.close();
});

it("SLP-05 posts the node and the action, with the token", async () => {
  await machine.shutdown(never, confirmed);
  const [, post] = server.received;
  expect(JSON.parse(post?.body ?? "")).toEqual({ node: "worker-1", action: "shutdown" });
  expect(post?.headers.authorization).toBe("Bearer t0ken");
});

it("X-130 asks for confirmation again once a new connection is open, and sends nothing if that is refused", async () => {
  server.handler = () => ({ json: { state: "on" }, headers: { connection: "close" } });
  await machine.state(never);
  let asked = 0;
  const confirm = async () => {
    if (++asked > 1) throw new Error("a pod has been bound");
  };
  await expect(machine.shutdown(never, confirm)).rejects.toThrow("a pod has been bound");
  expect(server.received.map(({ method }) => method)).toEqual(["GET"]);
});

it("SLP-07 reports a rejected token, another status and an unusable state", async () => {
  server.handler = () => ({ status: 403, text: "secret-of-the-body" });
  await expect(machine.state(never)).rejects.toMatchObject({ kind: "credentials" });
  server.handler = () => ({ status: 500 });
  await expect(machine.on(never, confirmed)).rejects.toMatchObject({ kind: "status", status: 500 });
  for (const json of [{ state: "maybe" }, {}, [], "on", null]) {
    server.handler = () => ({ text: JSON.stringify(json) });
    expect(await machine.state(never)).toBe("unknown");
  }
});

it("SLP-08 sends no token over http:// to another machine", () => {
  expect(() => new WebhookSwitch({ ...options, endpoint: { url: "http://switch.example" }, token: "t" })).toThrow(
    "would send the token unencrypted",
  );
});
