import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../../clock/index.ts";
import { seededRandom } from "../../random/index.ts";
import { EmbeddedApi } from "../embedded-api.ts";
import { jsonFromProtobuf } from "./protobuf.ts";

// Encoded like client-go: numbered fields; wire type 2 is length-prefixed bytes, wire type 0 a number.
const varint = (value: number): number[] => (value < 128 ? [value] : [(value % 128) + 128, ...varint(value >> 7)]);
const bytes = (field: number, content: Buffer | string): Buffer => {
  const payload = Buffer.from(content);
  return Buffer.concat([Buffer.from([...varint(field * 8 + 2), ...varint(payload.length)]), payload]);
};
const number = (field: number, value: number): Buffer => Buffer.from([...varint(field * 8), ...varint(value)]);
const message = (...parts: Buffer[]): Buffer => Buffer.concat(parts);
const envelope = (apiVersion: string, kind: string, raw: Buffer): Buffer =>
  message(
    Buffer.from("k8s\0"),
    bytes(1, message(bytes(1, apiVersion), bytes(2, kind))),
    bytes(2, raw),
    bytes(3, ""),
    bytes(4, ""),
  );
const label = (key: string, value: string) => bytes(11, message(bytes(1, key), bytes(2, value)));

const namespace = envelope(
  "v1",
  "Namespace",
  // Labels, and an empty creationTimestamp, which kubectl always sends.
  message(
    bytes(1, message(bytes(1, "team-é"), label("a", "1"), label("b", "2"), bytes(8, ""))),
    bytes(2, ""),
    bytes(3, ""),
  ),
);

describe("Protobuf of Kubernetes", () => {
  it("reads a Namespace", () => {
    expect(JSON.parse(jsonFromProtobuf(namespace))).toEqual({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "team-é", labels: { a: "1", b: "2" } },
    });
  });

  it("reads an Eviction with its options", () => {
    const options = message(number(1, 300), bytes(2, bytes(1, "u-1")), bytes(4, "Background"), bytes(5, "All"));
    const body = message(bytes(1, message(bytes(1, "p"), bytes(3, "default"))), bytes(2, options));
    expect(JSON.parse(jsonFromProtobuf(envelope("policy/v1", "Eviction", body)))).toEqual({
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name: "p", namespace: "default" },
      deleteOptions: {
        gracePeriodSeconds: 300,
        preconditions: { uid: "u-1" },
      },
    });
  });

  it("reads DeleteOptions, including a grace period of -1", () => {
    const minusOne = Buffer.from([0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
    expect(JSON.parse(jsonFromProtobuf(envelope("v1", "DeleteOptions", minusOne)))).toEqual({
      apiVersion: "v1",
      kind: "DeleteOptions",
      gracePeriodSeconds: -1,
    });
  });

  it("rejects an unknown kind with 415 and a hint", () => {
    expect(() => jsonFromProtobuf(envelope("v1", "Pod", Buffer.alloc(0)))).toThrow(
      expect.objectContaining({ code: 415, message: expect.stringContaining("Pod") as unknown }) as Error,
    );
  });

  it("rejects truncated or invalid Protobuf with 400", () => {
    const outcome = (bytes: Buffer): unknown => {
      try {
        return typeof jsonFromProtobuf(bytes);
      } catch (error) {
        return (error as { code?: number }).code;
      }
    };
    for (let length = 0; length < namespace.length; length++) {
      expect([400, 415, "string"]).toContain(outcome(namespace.subarray(0, length)));
    }
    for (const text of ["", "k8s", "{}", "k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"]) {
      expect(() => jsonFromProtobuf(Buffer.from(text, "latin1"))).toThrow(
        expect.objectContaining({ code: 400 }) as Error,
      );
    }
  });
});

describe("over HTTP", () => {
  const api = new EmbeddedApi({ clock: systemClock, random: seededRandom(1) });
  afterEach(async () => api.close());

  it("creates a namespace that kubectl sends as Protobuf", async () => {
    const { url, token } = await api.listen();
    const post = async (body: Buffer) =>
      fetch(`${url}/api/v1/namespaces`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/vnd.kubernetes.protobuf" },
        body: Uint8Array.from(body),
      });
    const plain = envelope("v1", "Namespace", bytes(1, bytes(1, "team")));
    const created = await post(plain);
    expect(created.status).toBe(201);
    expect(await created.json()).toMatchObject({ kind: "Namespace", metadata: { name: "team" } });
    expect((await post(plain)).status).toBe(409);
    expect((await post(Buffer.from("junk"))).status).toBe(400);
  });
});
