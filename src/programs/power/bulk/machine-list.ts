import type { PowerEndpointSpec } from "../../../core/api/index.ts";
import { fail, ok, type Result } from "../../../core/units/index.ts";

/** A machine to import: how its node is switched, and where this was written. */
export interface ListedMachine {
  readonly spec: PowerEndpointSpec;
  /** `hosts.csv line 3` */
  readonly source: string;
}

/** Columns of a list of machines. `node` and `address` are required. */
const COLUMNS = ["node", "address", "secret", "type", "system", "ca-secret", "insecure"] as const;
type Column = (typeof COLUMNS)[number];
const REQUIRED: readonly Column[] = ["node", "address"];
const MAX_MACHINES = 20_000;

/** How machines are switched that a list or a pattern names. */
export interface MachineAccess {
  readonly type: "redfish" | "webhook";
  /** Name of the Secret with the credentials. */
  readonly secret?: string | undefined;
  readonly caSecret?: string | undefined;
  readonly insecure?: boolean | undefined;
}

/**
 * Reads a CSV file with a header, such as `node,address,secret`. Columns may be in any order, values have no commas, and lines
 * that begin with # are skipped. `defaults` are for columns that are missing or empty. Reports all problems at once.
 */
export function readMachineList(
  text: string,
  file: string,
  defaults: MachineAccess,
): Result<readonly ListedMachine[], readonly string[]> {
  const lines = text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .map((line, index) => ({ line: line.trim(), at: `${file} line ${index + 1}` }))
    .filter(({ line }) => line !== "" && !line.startsWith("#"));
  const [header, ...rows] = lines;
  if (header === undefined) return fail([`${file} is empty; it needs a header such as node,address,secret`]);
  const columns = header.line.split(",").map((name) => name.trim().toLowerCase());
  const problems = columnProblems(columns, header.at);
  if (rows.length > MAX_MACHINES) problems.push(`${file} has more than ${MAX_MACHINES} machines`);
  if (problems.length > 0) return fail(problems);
  const machines: ListedMachine[] = [];
  for (const { line, at } of rows) {
    const machine = machineIn(line, columns, defaults);
    if (machine.ok) machines.push({ spec: machine.value, source: at });
    else problems.push(`${at} ${machine.error}`);
  }
  return problems.length > 0 ? fail(problems) : ok(machines);
}

function columnProblems(columns: readonly string[], at: string): string[] {
  const known = new Set<string>(COLUMNS);
  return [
    ...columns
      .filter((name) => !known.has(name))
      .map((name) => `${at} has the unknown column ${JSON.stringify(name)}; columns are ${COLUMNS.join(", ")}`),
    ...columns
      .filter((name, index) => columns.indexOf(name) !== index)
      .map((name) => `${at} has the column ${name} twice`),
    ...REQUIRED.filter((name) => !columns.includes(name)).map((name) => `${at} lacks the column ${name}`),
  ];
}

function machineIn(
  line: string,
  columns: readonly string[],
  defaults: MachineAccess,
): Result<PowerEndpointSpec, string> {
  const fields = line.split(",").map((field) => field.trim());
  if (fields.length > columns.length) return fail(`has ${fields.length} values for ${columns.length} columns`);
  const valueOf = (column: Column): string | undefined => fields[columns.indexOf(column)] || undefined;
  const [node, address] = [valueOf("node"), valueOf("address")];
  if (node === undefined || address === undefined) return fail(`lacks a ${node === undefined ? "node" : "address"}`);
  const type = valueOf("type") ?? defaults.type;
  if (type !== "redfish" && type !== "webhook")
    return fail(`has the type ${JSON.stringify(type)}; types are redfish, webhook`);
  const insecure = valueOf("insecure");
  if (insecure !== undefined && !/^(true|false)$/.test(insecure))
    return fail(`has insecure=${JSON.stringify(insecure)}; allowed are true and false`);
  const access: MachineAccess = {
    type,
    secret: valueOf("secret") ?? defaults.secret,
    caSecret: valueOf("ca-secret") ?? defaults.caSecret,
    insecure: insecure === undefined ? defaults.insecure : insecure === "true",
  };
  return ok(switchAt(node, address, access, valueOf("system")));
}

/** One machine for each node, whose address follows from the node's name: `https://{node}.bmc.example`. */
export const machinesByPattern = (
  pattern: string,
  nodes: readonly string[],
  access: MachineAccess,
): readonly ListedMachine[] =>
  nodes.map((node) => ({
    spec: switchAt(node, pattern.replaceAll("{node}", encodeURIComponent(node)), access, undefined),
    source: "--pattern",
  }));

/** An address without a scheme is that of an HTTPS service. */
function switchAt(nodeName: string, address: string, access: MachineAccess, systemId?: string): PowerEndpointSpec {
  const url = /^https?:\/\//i.test(address) ? address : `https://${address}`;
  const { type, secret, caSecret, insecure } = access;
  const credentials = secret !== undefined && { credentialsSecretRef: { name: secret } };
  if (type === "webhook") return { nodeName, webhook: { url, ...credentials } };
  return {
    nodeName,
    redfish: {
      address: url,
      ...(systemId !== undefined && { systemId }),
      ...credentials,
      ...(caSecret !== undefined && { caSecretRef: { name: caSecret } }),
      ...(insecure === true && { insecureSkipVerify: true }),
    },
  };
}
