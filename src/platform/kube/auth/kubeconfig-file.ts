import { existsSync, readFileSync } from "node:fs";
import { parse, YAMLParseError } from "yaml";
import * as z from "zod";
import { errorMessageOf, JoulieError } from "../../../core/api/index.ts";

const text = z.string().optional();

const cluster = z.looseObject({
  server: z.string(),
  "certificate-authority": text,
  "certificate-authority-data": text,
  "insecure-skip-tls-verify": z.boolean().optional(),
  "tls-server-name": text,
  "proxy-url": text,
});

const exec = z.looseObject({
  apiVersion: text,
  command: z.string(),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
});

const user = z.looseObject({
  token: text,
  tokenFile: text,
  "client-certificate": text,
  "client-certificate-data": text,
  "client-key": text,
  "client-key-data": text,
  as: z.undefined("impersonation is not supported").optional(),
  exec: exec.optional(),
  "auth-provider": z.looseObject({ name: z.string() }).optional(),
});

const context = z.looseObject({ cluster: z.string(), user: text, namespace: text });

export type ClusterEntry = z.infer<typeof cluster>;
export type UserEntry = z.infer<typeof user>;
export type ExecEntry = z.infer<typeof exec>;
type ContextEntry = z.infer<typeof context>;

const listOf = (field: string, schema: z.ZodType) =>
  z
    .array(z.object({ name: z.string(), [field]: schema }))
    .nullish()
    .transform((entries) => (entries ?? []) as { name: string; [field: string]: unknown }[]);

const file = z.object({
  "current-context": z.string().nullish(),
  clusters: listOf("cluster", cluster),
  users: listOf(
    "user",
    user.nullish().transform((value) => value ?? {}),
  ),
  contexts: listOf("context", context),
});

/** A named entry of a kubeconfig and its file. Paths in the entry are relative to the file. */
export interface Entry<Value> {
  readonly name: string;
  readonly file: string;
  readonly value: Value;
}

export interface Kubeconfig {
  readonly currentContext: string | undefined;
  readonly clusters: ReadonlyMap<string, Entry<ClusterEntry>>;
  readonly users: ReadonlyMap<string, Entry<UserEntry>>;
  readonly contexts: ReadonlyMap<string, Entry<ContextEntry>>;
}

/** Merges the files as kubectl does: the first entry of a name wins. Skips missing files, but at least one must exist. */
export function readKubeconfig(files: readonly string[]): Kubeconfig {
  const there = files.filter((path) => existsSync(path));
  if (there.length === 0) throw bad(files, "no such file; set KUBECONFIG or --kubeconfig to an existing file");
  let currentContext: string | undefined;
  const clusters = new Map<string, Entry<ClusterEntry>>();
  const users = new Map<string, Entry<UserEntry>>();
  const contexts = new Map<string, Entry<ContextEntry>>();
  for (const path of there) {
    const content = readOne(path);
    currentContext ??= content["current-context"] || undefined;
    collect(clusters, path, "cluster", content.clusters);
    collect(users, path, "user", content.users);
    collect(contexts, path, "context", content.contexts);
  }
  return { currentContext, clusters, users, contexts };
}

function collect<Value>(
  into: Map<string, Entry<Value>>,
  path: string,
  field: string,
  entries: readonly { readonly name: string; readonly [field: string]: unknown }[],
): void {
  for (const entry of entries) {
    if (!into.has(entry.name)) into.set(entry.name, { name: entry.name, file: path, value: entry[field] as Value });
  }
}

function readOne(path: string): z.infer<typeof file> {
  const content = parsed(path, textOf(path));
  const checked = file.safeParse(content ?? {});
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  throw bad([path], `${issue?.path.join(".")}: ${issue?.message}`);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw bad([path], errorMessageOf(cause), cause);
  }
}

/** Drops the parser's error and message: both quote lines of the file, which may contain a token. */
function parsed(path: string, content: string): unknown {
  try {
    // The parser's warnings would print lines of the file.
    return parse(content, { logLevel: "error" });
  } catch (error) {
    const where = error instanceof YAMLParseError ? `: ${error.code} in line ${error.linePos?.[0].line}` : "";
    throw bad([path], `this is not YAML${where}`);
  }
}

const bad = (files: readonly string[], why: string, cause?: unknown) =>
  new JoulieError("JOULIE_E_KUBECONFIG", `kubeconfig ${files.join(", ")}: ${why}`, { cause });
