import { generateKeyPairSync, randomBytes, sign } from "node:crypto";

// Creates a self-signed certificate for loopback addresses at each start and holds it in memory. kubectl sends its token only
// over TLS, and Node cannot create X.509 certificates, so this file encodes the needed parts of DER (X.690) and RFC 5280.

const der = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  const { length } = content;
  let size = [0x82, length >> 8, length & 0xff];
  if (length < 256) size = [0x81, length];
  if (length < 128) size = [length];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
};
const sequence = (...parts: readonly Uint8Array[]) => der(0x30, ...parts);
const text = (value: string) => der(0x0c, Buffer.from(value));
const oid = (...bytes: readonly number[]) => der(0x06, Buffer.from(bytes));
const time = (value: string) => der(0x18, Buffer.from(value));
const TRUE = der(0x01, Buffer.from([0xff]));

const ECDSA_WITH_SHA256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
const COMMON_NAME = oid(0x55, 0x04, 0x03);
const BASIC_CONSTRAINTS = oid(0x55, 0x1d, 0x13);
const SUBJECT_ALT_NAME = oid(0x55, 0x1d, 0x11);

/** RFC 5280's "no well-defined expiration date". The key exists only in this process. */
const VALIDITY = sequence(time("19700101000000Z"), time("99991231235959Z"));

const LOOPBACK = [
  der(0x82, Buffer.from("localhost")),
  der(0x87, Buffer.from([127, 0, 0, 1])),
  der(0x87, Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])),
];

const pem = (label: string, bytes: Uint8Array): string => {
  const lines =
    Buffer.from(bytes)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
};

interface KeyPair {
  readonly key: string;
  readonly cert: string;
}

export function selfSigned(): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = sequence(der(0x31, sequence(COMMON_NAME, text("joulie embedded API"))));
  const serial = Buffer.from([0x01, ...randomBytes(15)]);
  const extensions = sequence(
    sequence(BASIC_CONSTRAINTS, TRUE, der(0x04, sequence(TRUE))),
    sequence(SUBJECT_ALT_NAME, der(0x04, sequence(...LOOPBACK))),
  );
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    ECDSA_WITH_SHA256,
    name,
    VALIDITY,
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, extensions),
  );
  const signature = der(0x03, Buffer.from([0]), sign("sha256", body, privateKey));
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: pem("CERTIFICATE", sequence(body, ECDSA_WITH_SHA256, signature)),
  };
}
