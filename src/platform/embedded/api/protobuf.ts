import type { JsonObject } from "../storage/json.ts";
import { badRequest, StatusError } from "./status.ts";

// Some kubectl commands (`create namespace`, `create deployment`, `create job` and `drain`) send only Protobuf. This file converts the messages they
// need to JSON, so that the other files handle only JSON. Field numbers come from Kubernetes' generated.proto files.

export const PROTOBUF = "application/vnd.kubernetes.protobuf";
const MAGIC = Buffer.from("k8s\0");

type FieldType = "text" | "number" | "labels" | Message;
interface Field {
  readonly name: string;
  readonly type: FieldType;
  readonly repeated?: true;
}
/** Fields by number. The reader skips all others, because the server sets them. */
interface Message {
  readonly [number: number]: Field;
}

const metadata: Message = {
  1: { name: "name", type: "text" },
  3: { name: "namespace", type: "text" },
  11: { name: "labels", type: "labels" },
  12: { name: "annotations", type: "labels" },
};
const preconditions: Message = {
  1: { name: "uid", type: "text" },
  2: { name: "resourceVersion", type: "text" },
};
const deleteOptions: Message = {
  1: { name: "gracePeriodSeconds", type: "number" },
  2: { name: "preconditions", type: preconditions },
};
const container: Message = {
  1: { name: "name", type: "text" },
  2: { name: "image", type: "text" },
  3: { name: "command", type: "text", repeated: true },
  4: { name: "args", type: "text", repeated: true },
};
const podTemplate: Message = {
  1: { name: "metadata", type: metadata },
  2: {
    name: "spec",
    type: {
      2: { name: "containers", type: container, repeated: true },
      3: { name: "restartPolicy", type: "text" },
      4: { name: "terminationGracePeriodSeconds", type: "number" },
    },
  },
};
const selector: Message = { 1: { name: "matchLabels", type: "labels" } };
const kinds: Readonly<Record<string, Message>> = {
  Deployment: {
    1: { name: "metadata", type: metadata },
    2: {
      name: "spec",
      type: {
        1: { name: "replicas", type: "number" },
        2: { name: "selector", type: selector },
        3: { name: "template", type: podTemplate },
      },
    },
  },
  Job: {
    1: { name: "metadata", type: metadata },
    2: {
      name: "spec",
      type: {
        1: { name: "parallelism", type: "number" },
        2: { name: "completions", type: "number" },
        6: { name: "template", type: podTemplate },
        7: { name: "backoffLimit", type: "number" },
      },
    },
  },
  Namespace: { 1: { name: "metadata", type: metadata } },
  Eviction: { 1: { name: "metadata", type: metadata }, 2: { name: "deleteOptions", type: deleteOptions } },
  DeleteOptions: deleteOptions,
};

export function jsonFromProtobuf(body: Buffer): string {
  if (!body.subarray(0, MAGIC.length).equals(MAGIC))
    throw unreadable("it does not start with Kubernetes' Protobuf prefix");
  let typeMeta: JsonObject = {};
  let raw: Buffer = Buffer.alloc(0);
  for (const { number, value } of fieldsOf(body.subarray(MAGIC.length))) {
    if (number === 1) typeMeta = decoded(contentOf(value), { 1: textField("apiVersion"), 2: textField("kind") });
    if (number === 2) raw = contentOf(value);
  }
  const kind = String(typeMeta["kind"]);
  const message = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
  if (message === undefined) {
    const known = Object.keys(kinds).join(", ");
    const text = `the embedded API reads Protobuf of ${known} only. If kubectl api-resources lists ${kind}, send it as JSON, for example with kubectl apply -f`;
    throw new StatusError(415, "UnsupportedMediaType", text);
  }
  return JSON.stringify({ ...typeMeta, ...decoded(raw, message) });
}

const textField = (name: string): Field => ({ name, type: "text" });
const unreadable = (why: string): StatusError => badRequest(`couldn't read the body: ${why}`);

interface WireField {
  readonly number: number;
  /** A length-delimited byte string, or a varint. */
  readonly value: Buffer | bigint;
}

function decoded(bytes: Buffer, message: Message): JsonObject {
  const object: Record<string, unknown> = {};
  for (const { number, value } of fieldsOf(bytes)) {
    const field = message[number];
    if (field === undefined) continue;
    const { name, type, repeated } = field;
    const one = read(type, value);
    const before = object[name];
    if (type === "labels") object[name] = { ...(before as object | undefined), ...(one as object) };
    else if (repeated) object[name] = [...((before as unknown[] | undefined) ?? []), one];
    else object[name] = one;
  }
  return object;
}

function read(type: FieldType, value: Buffer | bigint): unknown {
  switch (type) {
    case "text":
      return contentOf(value).toString();
    case "number":
      return Number(BigInt.asIntN(64, numberOf(value)));
    case "labels": {
      const { key = "", value: text = "" } = decoded(contentOf(value), { 1: textField("key"), 2: textField("value") });
      return { [String(key)]: text };
    }
    default:
      return decoded(contentOf(value), type);
  }
}

function contentOf(value: Buffer | bigint): Buffer {
  if (typeof value === "bigint") throw unreadable("a Protobuf field has an unexpected type");
  return value;
}

function numberOf(value: Buffer | bigint): bigint {
  if (typeof value !== "bigint") throw unreadable("a Protobuf field has an unexpected type");
  return value;
}

function* fieldsOf(bytes: Buffer): Generator<WireField, void, undefined> {
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw unreadable("a Protobuf number is truncated");
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw unreadable("a Protobuf number is too long");
  };
  const take = (length: number): Buffer => {
    if (length > bytes.length - at) throw unreadable("a Protobuf field is truncated");
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const key = varint();
    const number = Number(key >> 3n);
    switch (key & 7n) {
      case 0n:
        yield { number, value: varint() };
        break;
      case 1n:
        take(8);
        break;
      case 2n:
        yield { number, value: take(Number(varint())) };
        break;
      case 5n:
        take(4);
        break;
      default:
        throw unreadable("a Protobuf field has an unknown wire type");
    }
  }
}
