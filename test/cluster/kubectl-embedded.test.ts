// The real kubectl against the embedded API: a user's commands and their output.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiVersion, crdOf, kinds } from "../../src/core/api/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { EmbeddedApi } from "../../src/platform/embedded/index.ts";
import { seededRandom } from "../../src/platform/random/index.ts";
import { buildControlPlane } from "../controlplane/build.ts";
import { runKubectl } from "../controlplane/kubectl.ts";

describe("kubectl on the embedded API", () => {
  const folder = mkdtempSync(join(tmpdir(), "joulie-kubectl-"));
  const kubeconfig = join(folder, "kubeconfig");
  const api = new EmbeddedApi({ clock: systemClock, random: seededRandom(1), crds: kinds.map(crdOf) });
  let binary = "";

  beforeAll(async () => {
    const built = await buildControlPlane();
    if (!built.available) throw new Error(built.reason);
    binary = built.path;
    const listening = await api.listen({ tls: "self-signed" });
    writeFileSync(kubeconfig, listening.kubeconfig(), { mode: 0o600 });
  });
  afterAll(async () => {
    await api.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const kubectl = async (args: string, input?: object | readonly object[]) => {
    const text = [input ?? []]
      .flat()
      .map((object) => JSON.stringify(object))
      .join("\n---\n");
    return runKubectl(binary, { folder, kubeconfig }, args.split(" "), { input: text });
  };
  /** Runs kubectl and returns its output; fails on an error or a warning. */
  const output = async (args: string, input?: object | readonly object[]) => {
    const { code, stdout, stderr } = await kubectl(args, input);
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" });
    return stdout;
  };
  /** The cells of a printed table, by column. */
  const rows = (text: string) => {
    const [head = "", ...lines] = text.trimEnd().split("\n");
    const columns = [...head.matchAll(/\S+( \S+)*\s*/g)].map((match) => ({ name: match[0].trim(), from: match.index }));
    return lines.map((line) =>
      Object.fromEntries(
        columns.map(({ name, from }, index) => [name, line.slice(from, columns[index + 1]?.from).trim()]),
      ),
    );
  };

  const node = (name: string) => ({
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { "joulie.io/managed": "true" } },
  });
  const twin = (name: string, profile = "eco", spec: object = {}) => ({
    apiVersion,
    kind: "NodeTwin",
    metadata: { name },
    spec: { nodeName: name, profile, cpu: { packagePowerCapPctOfMax: 60 }, ...spec },
  });
  const pod = (name: string) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: { containers: [{ name: "main", image: "example.org/none" }] },
  });

  it("api-resources: every kind with its short name", async () => {
    const found = new Map(rows(await output("api-resources")).map((row) => [row.NAME, row]));
    for (const { plural, kind, shortNames } of kinds) {
      expect(found.get(plural)).toMatchObject({ KIND: kind, SHORTNAMES: shortNames.join(","), NAMESPACED: "false" });
    }
    expect([...found.keys()]).toEqual(expect.arrayContaining(["nodes", "pods", "namespaces", "leases", "events"]));
    expect(await output("version")).toContain("Server Version: v1.36.0+joulie.embedded");
  });

  it("apply --server-side, with and without --validate=false, and a conflict between two managers", async () => {
    const objects = [node("a.example"), twin("a.example"), pod("p")];
    expect(await output("apply --server-side --validate=false -f -", objects)).toBe(
      "node/a.example serverside-applied\nnodetwin.joulie.io/a.example serverside-applied\npod/p serverside-applied\n",
    );
    await output("apply --server-side -f -", objects);
    const other = await kubectl("apply --server-side --field-manager other -f -", twin("a.example", "performance"));
    expect(other.code).toBe(1);
    expect(other.stderr).toContain('conflict with "kubectl": .spec.profile');
    await output("apply --server-side --field-manager other --force-conflicts -f -", twin("a.example", "performance"));
    const unknown = await kubectl("apply --server-side -f -", twin("b.example", "eco", { colour: "red" }));
    expect(unknown.stderr).toContain("spec.colour");
  });

  it("get, -o wide, -o json, by label and by field", async () => {
    await output("apply --server-side --validate=false -f -", [node("w.example"), twin("w.example")]);
    expect(rows(await output("get nodes"))).toContainEqual(
      expect.objectContaining({ NAME: "w.example", STATUS: "Unknown" }),
    );
    const powerMeasurement = { source: "agent", measuredNodePowerW: 417, nodeCappedPowerW: 1200 };
    const status = {
      schedulableClass: "eco",
      predictedPowerHeadroomScore: 41.2,
      predictedCoolingStressScore: 40,
      coolingStressNow: 31.3,
      predictedPsuStressScore: 60,
      powerMeasurement,
    };
    await output(`patch nt w.example --subresource=status --type merge -p ${JSON.stringify({ status })}`);
    const [row] = rows(await output("get nodetwins w.example"));
    expect(row).toEqual({
      NAME: "w.example",
      CLASS: "eco",
      POWER: "417",
      CAP: "1200",
      COOLING: "31.3",
      PSU: "60",
      AGE: expect.stringMatching(/^\d+s$/) as unknown,
    });
    expect(rows(await output("get nt w.example -o wide"))[0]).toMatchObject({
      PROFILE: "eco",
      SOURCE: "agent",
      "CPU-CAP": "60",
    });
    const json = JSON.parse(await output("get nodes -l joulie.io/managed=true -o json")) as { items: unknown[] };
    expect(json.items.length).toBeGreaterThan(0);
    expect(await output("get nt --field-selector metadata.name=w.example -o name")).toBe(
      "nodetwin.joulie.io/w.example\n",
    );
    expect(await output("get nodes -l joulie.io/managed=true --chunk-size=1 -o name")).toContain("node/w.example\n");
    const missing = await kubectl("get nt missing");
    expect(missing.stderr).toBe('Error from server (NotFound): nodetwins.joulie.io "missing" not found\n');
  });

  it("get -w: prints changes", async () => {
    await output("apply --server-side --validate=false -f -", twin("watched"));
    const child = spawn(binary, ["kubectl", "get", "nt", "-w", "--no-headers", "-o", "wide"], {
      env: { ...process.env, HOME: folder, KUBECONFIG: kubeconfig, CONTROLPLANE_PARENT: String(process.pid) },
    });
    let seen = "";
    let patched = false;
    try {
      for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
        seen += chunk.toString();
        if (/watched .* performance /.test(seen)) break;
        if (patched || !/watched .* eco /.test(seen)) continue;
        patched = true;
        await output(`patch nt watched --type merge -p {"spec":{"profile":"performance"}}`);
      }
      expect(seen).toMatch(/watched .* eco [^]*watched .* performance /);
    } finally {
      child.kill("SIGKILL");
    }
  });

  it("describe: a node with its pods and events, and a custom object", async () => {
    await output("apply --server-side --validate=false -f -", [node("d.example"), twin("d.example"), pod("described")]);
    const transport = api.transport();
    const { signal } = new AbortController();
    const post = async (path: string, body: object) =>
      transport.request({ method: "POST", path, body: JSON.stringify(body), signal });
    await post("/api/v1/namespaces/default/pods/described/binding", { target: { kind: "Node", name: "d.example" } });
    await post("/apis/events.k8s.io/v1/namespaces/default/events", {
      metadata: { name: "d.example.1" },
      type: "Normal",
      reason: "ProfileChanged",
      note: "the node goes to eco",
      eventTime: "2030-01-31T12:00:00.000000Z",
      reportingController: "joulie.io/operator",
      regarding: { kind: "Node", name: "d.example", uid: "d.example" },
    });
    const described = await output("describe node d.example");
    expect(described).toMatch(/Labels: +joulie.io\/managed=true/);
    expect(described).toMatch(/default +described/);
    expect(described).toMatch(/ProfileChanged.*the node goes to eco/);
    expect(await output("describe nt d.example")).toMatch(/Profile: +eco/);
  });

  it("patch, label, annotate, taint, cordon", async () => {
    await output("apply --server-side --validate=false -f -", [node("l.example"), twin("l.example")]);
    await output(`patch nt l.example --type merge -p {"spec":{"profile":"performance"}}`);
    await output("label node l.example joulie.io/rack=r1");
    await output("label node l.example joulie.io/rack=r2 --overwrite");
    await output("annotate node l.example note=x");
    await output("taint node l.example dedicated=gpu:NoSchedule");
    await output("cordon l.example");
    const shown = JSON.parse(await output("get node l.example -o json")) as {
      metadata: { labels: object; annotations: object };
      spec: object;
    };
    expect(shown.metadata.labels).toMatchObject({ "joulie.io/rack": "r2" });
    expect(shown.metadata.annotations).toMatchObject({ note: "x" });
    expect(shown.spec).toMatchObject({
      unschedulable: true,
      taints: [{ key: "dedicated", value: "gpu", effect: "NoSchedule" }],
    });
    expect(await output("get nt l.example -o jsonpath={.spec.profile}")).toBe("performance");
    await output("label node l.example joulie.io/rack-");
    expect(await output("get node l.example -o jsonpath={.metadata.labels}")).not.toContain("rack");
    const bad = await kubectl(`patch nt l.example --type merge -p {"spec":{"profile":"turbo"}}`);
    expect(bad.stderr).toContain('spec.profile: Unsupported value: "turbo": supported values: "performance", "eco"');
  });

  it("create namespace, which it sends as Protobuf", async () => {
    expect(await output("create namespace team-a")).toBe("namespace/team-a created\n");
    expect(rows(await output("get namespaces team-a"))[0]).toMatchObject({ STATUS: "Active" });
    expect((await kubectl("create namespace team-a")).stderr).toContain('namespaces "team-a" already exists');
    expect(await output("delete namespace team-a --timeout=10s")).toContain('namespace "team-a" deleted');
  });

  /** The part of a kubelet: every pending pod of the selector runs, or ends. */
  const kubelet = async (selector: string, phase: "Running" | "Succeeded" | "Failed") => {
    const names = (await output(`get pods -l ${selector} --field-selector status.phase=Pending -o name`))
      .split("\n")
      .filter(Boolean);
    const conditions = [{ type: "Ready", status: phase === "Running" ? "True" : "False" }];
    for (const name of names) {
      const status = JSON.stringify({ status: { phase, conditions } });
      await output(`patch ${name} --subresource=status --type merge -p ${status}`);
    }
    return names;
  };

  it("X-164 create deployment, rollout status, scale, set image and delete: each ends only when the pods are as wanted", async () => {
    const timeout = "rollout status deployment web --timeout";
    expect(await output("create deployment web --image=example.org/one --replicas=2")).toBe(
      "deployment.apps/web created\n",
    );
    const early = await kubectl(`${timeout}=1s`);
    expect({ code: early.code, stdout: early.stdout }).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("0 of 2 updated replicas are available") as unknown,
    });
    expect(await kubelet("app=web", "Running")).toHaveLength(2);
    expect(await output(`${timeout}=180s`)).toContain('deployment "web" successfully rolled out');
    expect(rows(await output("get deployments web"))[0]).toMatchObject({
      READY: "2/2",
      "UP-TO-DATE": "2",
      AVAILABLE: "2",
    });
    expect(await output("scale deployment web --replicas=3")).toBe("deployment.apps/web scaled\n");
    await output("wait --for=jsonpath={.status.replicas}=3 deployment/web --timeout=180s");
    expect((await kubectl("wait --for=condition=Available deployment/web --timeout=1s")).code).toBe(1);
    await kubelet("app=web", "Running");
    await output("wait --for=condition=Available deployment/web --timeout=180s");
    const wrong = await kubectl("scale deployment web --current-replicas=7 --replicas=1");
    expect(wrong.stderr).toContain("Expected replicas to be 7, was 3");
    await output("set image deployment/web one=example.org/two");
    await output("wait --for=jsonpath={.status.updatedReplicas}=3 deployment/web --timeout=180s");
    expect(await output("get pods -l app=web -o name")).toMatch(/^(pod.*\n){6}$/);
    expect(await kubelet("app=web", "Running")).toHaveLength(3);
    expect(await output(`${timeout}=180s`)).toContain("successfully rolled out");
    expect(await output("get pods -l app=web -o jsonpath={.items[*].spec.containers[*].image}")).toBe(
      Array.from({ length: 3 }, () => "example.org/two").join(" "),
    );
    expect(await output("describe deployment web")).toMatch(
      /Replicas: +3 desired \| 3 updated \| 3 total \| 3 available/,
    );
    await output("scale deployment web --replicas=0");
    await output(`${timeout}=180s`);
    await output("delete deployment web --timeout=180s");
    expect((await kubectl("get pods,replicasets,deployments -l app=web")).stderr).toBe(
      "No resources found in default namespace.\n",
    );
  });

  it("X-164 rollout status fails where the pods are refused", async () => {
    const template = {
      metadata: { labels: { app: "refused", wrong: "not a label" } },
      spec: { containers: [{ name: "c", image: "i" }] },
    };
    const spec = { selector: { matchLabels: { app: "refused" } }, template };
    const refused = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "refused" }, spec };
    await output("create --validate=false -f -", refused);
    const { code, stderr } = await kubectl("rollout status deployment refused --timeout=180s");
    expect(code).toBe(1);
    expect(stderr).toContain('deployment "refused" exceeded its progress deadline');
    expect(await output("describe deployment refused")).toContain("FailedCreate");
    await output("delete deployment refused");
  });

  it("X-164 create job, wait and delete: complete and failed Jobs", async () => {
    await output("create job work --image=example.org/none -- sleep 60");
    expect(rows(await output("get jobs work"))[0]).toMatchObject({ STATUS: "Running", COMPLETIONS: "0/1" });
    await output("wait --for=jsonpath={.status.active}=1 job/work --timeout=180s");
    expect(await output("get pods -l job-name=work -o jsonpath={.items[*].spec.containers[*].command}")).toBe(
      '["sleep","60"]',
    );
    expect((await kubectl("wait --for=condition=complete job/work --timeout=1s")).code).toBe(1);
    await kubelet("job-name=work", "Succeeded");
    await output("wait --for=condition=complete job/work --timeout=180s");
    expect(rows(await output("get jobs work"))[0]).toMatchObject({ STATUS: "Complete", COMPLETIONS: "1/1" });
    expect(await output("describe job work")).toMatch(/Pods Statuses: +0 Active.*1 Succeeded \/ 0 Failed/);
    await output("create job broken --image=example.org/none");
    await output(`patch job broken --type merge -p {"spec":{"backoffLimit":0}}`);
    await output("wait --for=jsonpath={.status.active}=1 job/broken --timeout=180s");
    await kubelet("job-name=broken", "Failed");
    await output("wait --for=condition=failed job/broken --timeout=180s");
    await output("delete jobs work broken --timeout=180s");
    expect((await kubectl("get pods -l job-name")).stderr).toBe("No resources found in default namespace.\n");
  });

  it("drain: cordons the node and evicts its pods", async () => {
    const here = (name: string) => {
      const { metadata, spec, ...rest } = pod(name);
      return { ...rest, metadata, spec: { ...spec, nodeName: "drained.example", terminationGracePeriodSeconds: 1 } };
    };
    await output("apply --server-side --validate=false -f -", [node("drained.example"), here("e1"), here("e2")]);
    const refused = await kubectl("drain drained.example --timeout=10s");
    expect(refused.stderr).toContain("cannot delete Pods that declare no controller");
    const { code, stdout } = await kubectl("drain drained.example --force --timeout=20s");
    expect(stdout).toContain("evicting pod default/e1");
    expect(stdout).toContain("node/drained.example drained");
    expect(code).toBe(0);
    expect(rows(await output("get nodes drained.example"))[0]?.STATUS).toContain("SchedulingDisabled");
    const left = "get pods --field-selector spec.nodeName=drained.example -o name";
    expect(await output(left)).toBe("");
    await output("uncordon drained.example");
  });

  it("get events --sort-by=.lastTimestamp: the latest last", async () => {
    const { signal } = new AbortController();
    const transport = api.transport();
    // The event created last has the oldest timestamp.
    for (const [name, minute] of [
      ["second", "02"],
      ["third", "03"],
      ["first", "01"],
    ] as const) {
      const body = JSON.stringify({
        metadata: { name },
        type: "Normal",
        reason: name,
        note: `the ${name}`,
        eventTime: `2030-01-31T12:${minute}:00.000000Z`,
        reportingController: "joulie.io/sorted",
        regarding: { kind: "Node", name: "sorted.example" },
      });
      const path = "/apis/events.k8s.io/v1/namespaces/default/events";
      await transport.request({ method: "POST", path, body, signal });
    }
    const table = await output(
      "get events --sort-by=.lastTimestamp --field-selector involvedObject.name=sorted.example",
    );
    expect(rows(table).map(({ REASON }) => REASON)).toEqual(["first", "second", "third"]);
  });

  it("explain: the fields of our kinds", async () => {
    expect(await output("explain nodetwin.spec.cpu")).toContain("packagePowerCapPctOfMax\t<number>");
  });

  it("delete: one object, several, and by selector, and waits for their removal", async () => {
    const names = ["x1", "x2", "x3"];
    const labelled = names.map((name) => ({ ...twin(name), metadata: { name, labels: { gone: "soon" } } }));
    await output("apply --server-side --validate=false -f -", [...labelled, pod("deleted")]);
    await output("delete nt x1");
    await output("delete nt -l gone=soon");
    expect((await kubectl("get nt -l gone=soon")).stderr).toBe("No resources found\n");
    await output("delete pod deleted --timeout=10s");
    expect((await kubectl("delete nt x1")).code).toBe(1);
  });
});
