import { writeFileSync } from "node:fs";
import { run } from "./command.ts";

export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

/** Creates a certificate authority and returns how to sign certificates with it. */
export async function createAuthority(folder: string) {
  const authority = { certificate: `${folder}/ca.crt`, key: `${folder}/ca.key` };
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  await run("openssl", [
    "req",
    "-x509",
    ...curve,
    "-days",
    "2",
    "-subj",
    "/CN=joulie-test-ca",
    "-keyout",
    authority.key,
    "-out",
    authority.certificate,
  ]);
  const sign = async (
    name: string,
    subject: string,
    alternativeNames: readonly string[] = [],
  ): Promise<Certificate> => {
    const file = `${folder}/${name}`;
    const extensions = `${file}.ext`;
    const names = alternativeNames.length === 0 ? "" : `subjectAltName=${alternativeNames.join(",")}\n`;
    writeFileSync(extensions, `extendedKeyUsage=serverAuth,clientAuth\n${names}`);
    await run("openssl", ["req", ...curve, "-subj", subject, "-keyout", `${file}.key`, "-out", `${file}.csr`]);
    await run("openssl", [
      "x509",
      "-req",
      "-in",
      `${file}.csr`,
      "-CA",
      authority.certificate,
      "-CAkey",
      authority.key,
      "-CAcreateserial",
      "-days",
      "2",
      "-extfile",
      extensions,
      "-out",
      `${file}.crt`,
    ]);
    return { certificate: `${file}.crt`, key: `${file}.key` };
  };
  return { ...authority, sign };
}
