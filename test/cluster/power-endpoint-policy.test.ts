// Who may write a PowerEndpoint: the power program uses the Secrets and BareMetalHosts that it names.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { eventually } from "../../src/platform/clock/testing/index.ts";
import { Api, ApiFailure } from "../controlplane/api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import { helmOf } from "../controlplane/helm.ts";
import type { Rule } from "../controlplane/identities.ts";

const namespace = "joulie-system";
const endpoints = "/apis/joulie.io/v1alpha1/powerendpoints";
const writer: Rule = { apiGroups: ["joulie.io"], resources: ["powerendpoints"], verbs: ["get", "create", "patch"] };
const named = (resourceNames: readonly string[], verbs: readonly string[]): Rule => ({
  namespace,
  apiGroups: [""],
  resources: ["secrets"],
  resourceNames,
  verbs,
});

let plane: ControlPlane;
let folder: string;
const apis: Api[] = [];
/** Each may write PowerEndpoints. */
let nobody: Api;
let owner: Api;
let user: Api;
let elsewhere: Api;
let metalOwner: Api;

async function person(...rules: readonly Rule[]): Promise<Api> {
  const { token } = await plane.identity([writer, ...rules]);
  const api = new Api(plane.server, plane.admin.ca, token);
  apis.push(api);
  return api;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "joulie-policy-"));
  const helm = await helmOf(folder);
  plane = await startControlPlane();
  const chart = join(import.meta.dirname, "../../charts/joulie");
  const options = ["--namespace", namespace, "--set", "image.repository=joulie,power.enabled=true"];
  const policies = parseAllDocuments(await helm("template", "joulie", chart, ...options))
    .map((document) => document.toJS() as { kind: string } | null)
    .filter((object) => /Admission/.test(object?.kind ?? ""));
  const input = policies.map((object) => JSON.stringify(object)).join("\n---\n");
  const applied = await plane.kubectl(["apply", "-f", "-"], { input });
  if (applied.code !== 0) throw new Error(applied.stderr);
  nobody = await person();
  owner = await person(named(["bmc", "bmc-ca"], ["get"]));
  user = await person(named(["bmc"], ["use"]));
  elsewhere = await person({ ...named(["bmc"], ["get"]), namespace: "default" });
  metalOwner = await person({
    apiGroups: ["metal3.io"],
    resources: ["baremetalhosts"],
    verbs: ["patch"],
    namespace: "metal",
  });
  // The API server compiles a new policy a moment after it is written.
  const probe = async () =>
    (await outcome(async () => write(nobody, "probe", redfish("bmc"), "?dryRun=All"))) !== "written";
  await eventually(probe);
});
afterAll(async () => {
  await Promise.all(apis.map(async (api) => api.close()));
  await plane?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const redfish = (login?: string, ca?: string) => ({
  redfish: {
    address: "https://bmc.example",
    ...(login !== undefined && { credentialsSecretRef: { name: login } }),
    ...(ca !== undefined && { caSecretRef: { name: ca } }),
  },
});
const webhook = (secret: string) => ({
  webhook: { url: "https://switch.example", credentialsSecretRef: { name: secret } },
});
const metal3 = (at: string) => ({ metal3: { namespace: at, name: "host" } });

const write = async (api: Api, name: string, spec: object, query = "") =>
  api.create(`${endpoints}${query}`, {
    apiVersion: "joulie.io/v1alpha1",
    kind: "PowerEndpoint",
    metadata: { name },
    spec: { nodeName: name, ...spec },
  });

async function outcome(call: () => Promise<unknown>): Promise<string> {
  try {
    await call();
    return "written";
  } catch (error) {
    if (error instanceof ApiFailure && error.status === 403) return error.message;
    throw error;
  }
}

describe("the author of a PowerEndpoint", () => {
  const refusedSecret = (name: string) =>
    expect.stringContaining(
      `to name Secret ${name} in a PowerEndpoint you need the verb get or use for it in namespace ${namespace}`,
    );
  const refusedHost = expect.stringContaining("you need the verb patch for it");

  it.each<[string, () => Api, object, unknown]>([
    ["without rights, names no Secret", () => nobody, redfish(), "written"],
    ["without rights, names a password", () => nobody, redfish("bmc"), refusedSecret("bmc")],
    ["without rights, names certificates", () => nobody, redfish(undefined, "bmc-ca"), refusedSecret("bmc-ca")],
    ["without rights, names a token", () => nobody, webhook("bmc"), refusedSecret("bmc")],
    ["who may get both Secrets, names both", () => owner, redfish("bmc", "bmc-ca"), "written"],
    ["who may get two Secrets, names a third", () => owner, redfish("bmc", "other"), refusedSecret("other")],
    ["who may use the Secret, names it", () => user, webhook("bmc"), "written"],
    ["who may get it in another namespace, names it", () => elsewhere, redfish("bmc"), refusedSecret("bmc")],
    ["without rights, names a BareMetalHost", () => nobody, metal3("metal"), refusedHost],
    ["who may patch it, names a BareMetalHost", () => metalOwner, metal3("metal"), "written"],
    ["who may patch another, names a BareMetalHost", () => metalOwner, metal3("kube-system"), refusedHost],
  ])("X-141 %s", async (_, author, spec, expected) => {
    expect(await outcome(async () => write(author(), "worker", spec, "?dryRun=All"))).toEqual(expected);
  });

  it("X-141 may change the address only with a right to the Secret, and annotations without", async () => {
    await write(owner, "changed", redfish("bmc"));
    const patch = async (api: Api, body: object) => outcome(async () => api.mergePatch(`${endpoints}/changed`, body));
    const address = { spec: { redfish: { address: "https://evil.example" } } };
    expect(await patch(nobody, address)).toEqual(refusedSecret("bmc"));
    expect(await patch(nobody, { metadata: { annotations: { "joulie.io/keep-awake": "true" } } })).toBe("written");
    expect(await patch(owner, address)).toBe("written");
    expect(await patch(nobody, { spec: { redfish: { credentialsSecretRef: null } } })).toBe("written");
  });
});
