import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type RequestOptions, request } from "node:https";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import {
  answerTo,
  ExtenderHarness,
  type HostScores,
  podOfClass,
  type RunningExtender,
} from "../testing/extender-harness.ts";

const certificates = join(import.meta.dirname, "../../../platform/kube/testdata");
const text = (file: string) => readFileSync(join(certificates, file), "utf8");
const person = { cert: text("person.crt"), key: text("person.key") };

let harness: ExtenderHarness;
let folder: string;
beforeEach(() => {
  harness = new ExtenderHarness();
  folder = mkdtempSync(join(tmpdir(), "joulie-extender-"));
  for (const file of ["server.crt", "server.key", "ca.crt"]) copyFileSync(join(certificates, file), join(folder, file));
});
afterEach(async () => {
  await harness.end();
  rmSync(folder, { recursive: true });
});

const variables = () => ({
  EXTENDER_TLS_CERT_FILE: join(folder, "server.crt"),
  EXTENDER_TLS_KEY_FILE: join(folder, "server.key"),
});

async function ask(
  extender: RunningExtender,
  options: RequestOptions = {},
): Promise<{ scores: unknown; subject: string }> {
  const { hostname, port, protocol } = new URL(String(extender.url));
  expect(protocol).toBe("https:");
  const asked = request({
    host: hostname,
    port,
    path: "/prioritize",
    method: "POST",
    agent: false,
    ca: text("ca.crt"),
    ...options,
  });
  let subject = "";
  asked.on("socket", (socket) => {
    socket.once("secureConnect", () => {
      subject = (socket as unknown as { getPeerCertificate(): { subject: { CN: string } } }).getPeerCertificate()
        .subject.CN;
    });
  });
  asked.end(JSON.stringify({ Pod: podOfClass("standard"), NodeNames: ["a"] }));
  const { body } = await answerTo<HostScores>(asked);
  return { scores: body, subject };
}

const answer = [{ Host: "a", Score: 50 }];

describe("TLS", () => {
  it("answers over TLS; without a client CA it accepts every client", async () => {
    const extender = await harness.start(variables(), { synced: false });
    await harness.until(() => extender.url !== undefined);
    await harness.advance(1);
    expect((await ask(extender)).scores).toEqual(answer);
  });

  it("X-62 closes a connection without a TLS handshake, also during the shutdown", async () => {
    const extender = await harness.start(variables(), { synced: false, limits: { header: milliseconds(200) } });
    const port = Number(new URL(String(extender.url)).port);
    const silent = () =>
      connect(port, "127.0.0.1")
        .on("error", () => undefined)
        .resume();
    await once(silent(), "close");
    const other = silent();
    await once(other, "connect");
    extender.terminate();
    await harness.advance(0);
    await extender.done;
    expect(extender.logs.map(({ level }) => level)).not.toContain("warn");
  });

  it("with a client CA it accepts only clients with a certificate of that CA", async () => {
    const clientCa = { EXTENDER_TLS_CLIENT_CA_FILE: join(folder, "ca.crt") };
    const extender = await harness.start({ ...variables(), ...clientCa }, { synced: false });
    await harness.advance(1);
    expect((await ask(extender, person)).scores).toEqual(answer);
    await expect(ask(extender)).rejects.toThrow(/certificate required|socket hang up|ECONNRESET/);
    // METRICS_ADDR requires no client certificate: the kubelet has none.
    expect((await fetch(`${extender.metricsUrl}/readyz`)).status).toBe(200);
  });

  it("uses replaced files for new connections and ignores unusable ones", async () => {
    const extender = await harness.start(variables(), { synced: false });
    await harness.advance(1);
    const { subject } = await ask(extender);
    copyFileSync(join(certificates, "person.key"), join(folder, "server.key"));
    await harness.until(async () => {
      await harness.advance(30);
      return extender.logs.some(({ level }) => level === "warn");
    });
    expect((await ask(extender)).subject).toBe(subject);
    copyFileSync(join(certificates, "person.crt"), join(folder, "server.crt"));
    await harness.until(async () => {
      await harness.advance(30);
      return extender.logs.some(({ msg }) => msg.includes("reloaded the"));
    });
    const renewed = await ask(extender, { checkServerIdentity: () => undefined });
    expect([subject, renewed.subject]).toEqual([expect.not.stringMatching("person"), "person"]);
    expect(extender.logs.filter(({ level }) => level === "warn")).toHaveLength(1);
  });

  it.each([
    ["EXTENDER_TLS_CLIENT_CA_FILE", "ca.crt", ""],
    ["EXTENDER_TLS_CLIENT_CA_FILE", "ca.crt", "nothing"],
    ["EXTENDER_TLS_CERT_FILE", "server.crt", ""],
  ])("does not start with a %s that contains no certificate: %s is %j", async (variable, file, content) => {
    writeFileSync(join(folder, file), content);
    const clientCa = { EXTENDER_TLS_CLIENT_CA_FILE: join(folder, "ca.crt") };
    const extender = await harness.start({ ...variables(), ...clientCa }, { synced: false });
    await expect(extender.done).rejects.toThrow(`cannot use ${variable} ${join(folder, file)} for TLS`);
  });

  it("keeps the client CA when its file becomes empty", async () => {
    const clientCa = { EXTENDER_TLS_CLIENT_CA_FILE: join(folder, "ca.crt") };
    const extender = await harness.start({ ...variables(), ...clientCa }, { synced: false });
    await harness.advance(1);
    writeFileSync(clientCa.EXTENDER_TLS_CLIENT_CA_FILE, "");
    await harness.until(async () => {
      await harness.advance(30);
      return extender.logs.some(({ level, msg }) => level === "warn" && msg.includes("keeping the current"));
    });
    expect((await ask(extender, person)).scores).toEqual(answer);
  });

  it.each([
    ["no such file", (file: string) => rmSync(file), /cannot read EXTENDER_TLS_KEY_FILE .*server\.key/],
    ["no key", (file: string) => writeFileSync(file, "nothing"), /cannot use .*server\.key for TLS/],
  ])("does not start with %s", async (_, spoil, message) => {
    spoil(join(folder, "server.key"));
    const extender = await harness.start(variables(), { synced: false });
    await expect(extender.done).rejects.toThrow(message);
  });
});
