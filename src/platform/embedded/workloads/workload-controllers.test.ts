import { describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { apiHarness, podsPath } from "../testing/api-harness.ts";

const deployments = "/apis/apps/v1/namespaces/default/deployments";
const replicaSets = "/apis/apps/v1/namespaces/default/replicasets";
const jobs = "/apis/batch/v1/namespaces/default/jobs";
const merge = { "content-type": "application/merge-patch+json" };
const template = (image: string, spec: object = {}) => ({
  metadata: { labels: { app: "web" } },
  spec: { containers: [{ name: "c", image }], ...spec },
});

/** A cluster whose pods do what the test says. */
function cluster() {
  const { clock, send } = apiHarness();
  const settle = async () => clock.advanceAsync(milliseconds(1));
  const all = async (path: string) => {
    await settle();
    return (await send("GET", path)).body.items as unknown as readonly Found[];
  };
  const end = async (name: string, status: object) => {
    await send("PATCH", `${podsPath}/${name}/status`, { status }, merge);
    await settle();
  };
  const makeReady = async () => {
    for (const { metadata } of await all(podsPath))
      await end(metadata.name, { phase: "Running", conditions: [{ type: "Ready", status: "True" }] });
  };
  const get = async (path: string) => {
    await settle();
    return (await send("GET", path)).body as unknown as Found;
  };
  return { clock, send, all, end, makeReady, get };
}

interface Found {
  readonly metadata: {
    readonly name: string;
    readonly ownerReferences?: readonly object[];
    readonly generation?: number;
  };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status: Readonly<Record<string, unknown>>;
}

const web = (replicas: number, image = "one") => ({
  metadata: { name: "web" },
  spec: { replicas, selector: { matchLabels: { app: "web" } }, template: template(image) },
});
const work = (spec: object) => ({
  metadata: { name: "work" },
  spec: { template: template("i", { restartPolicy: "Never" }), ...spec },
});

describe("a Deployment", () => {
  it("X-164 has a ReplicaSet with its pods, and counts those that are ready", async () => {
    const { send, all, makeReady, get } = cluster();
    expect((await send("POST", deployments, web(2))).status).toBe(201);
    expect(await all(podsPath)).toHaveLength(2);
    const [set] = await all(replicaSets);
    expect(set?.metadata.ownerReferences).toMatchObject([{ kind: "Deployment", name: "web", controller: true }]);
    expect((await get(`${deployments}/web`)).status).toMatchObject({
      replicas: 2,
      updatedReplicas: 2,
      readyReplicas: 0,
    });
    await makeReady();
    const { metadata, status } = await get(`${deployments}/web`);
    expect(status).toMatchObject({ observedGeneration: metadata.generation, readyReplicas: 2, availableReplicas: 2 });
  });

  it("X-164 is resized through its subresource scale", async () => {
    const { send, all, get } = cluster();
    await send("POST", deployments, web(1));
    const scaled = await send("PATCH", `${deployments}/web/scale`, { spec: { replicas: 3 } }, merge);
    expect(scaled.body).toMatchObject({ kind: "Scale", spec: { replicas: 3 } });
    expect(await all(podsPath)).toHaveLength(3);
    await send("PATCH", `${deployments}/web/scale`, { spec: { replicas: 0 } }, merge);
    expect(await all(podsPath)).toEqual([]);
    expect((await get(`${deployments}/web`)).status).toMatchObject({ replicas: 0 });
    const refused = await send("PATCH", `${deployments}/web/scale`, { spec: { replicas: -1 } }, merge);
    expect(refused.status).toBe(422);
  });

  it("X-164 replaces its pods when its template changes, and keeps the old ones until the new ones are ready", async () => {
    const { send, all, makeReady, get } = cluster();
    await send("POST", deployments, web(2));
    await makeReady();
    await send("PATCH", `${deployments}/web`, { spec: { template: template("two") } }, merge);
    expect(await all(podsPath)).toHaveLength(4);
    await makeReady();
    expect(await all(podsPath)).toHaveLength(2);
    expect((await get(`${deployments}/web`)).status).toMatchObject({ replicas: 2, updatedReplicas: 2 });
  });

  it("X-164 replaces a pod that was deleted, and takes everything along when it is deleted", async () => {
    const { send, all } = cluster();
    await send("POST", deployments, web(1));
    const [first] = await all(podsPath);
    await send("DELETE", `${podsPath}/${first?.metadata.name}`);
    const [second] = await all(podsPath);
    expect(second?.metadata.name).not.toBe(first?.metadata.name);
    await send("DELETE", `${deployments}/web`);
    expect([await all(replicaSets), await all(podsPath)]).toEqual([[], []]);
  });

  it.each<readonly [string, object]>([
    ["a selector that does not match its pods", { selector: { matchLabels: { app: "other" } } }],
    ["a size below 0", { replicas: -1 }],
    ["a size that is no number", { replicas: "many" }],
    ["more pods than this API can hold", { replicas: 1e9 }],
    ["pods that end", { template: template("one", { restartPolicy: "Never" }) }],
  ])("X-164 is refused with %s", async (_, spec) => {
    const { send, all } = cluster();
    const wrong = { ...web(1), spec: { ...web(1).spec, ...spec } };
    expect((await send("POST", deployments, wrong)).status).toBe(422);
    expect(await all(podsPath)).toEqual([]);
  });

  it("X-164 gives a pod another name where a generated one is taken, as kube-apiserver does", async () => {
    let draws = 0;
    const { send } = apiHarness({ random: { next: () => (draws++ < 5 ? 0 : 0.5) } });
    const made = async () => {
      draws = 0;
      const spec = { containers: [{ name: "c", image: "i" }] };
      const { status, body } = await send("POST", podsPath, { metadata: { generateName: "p-" }, spec });
      return [status, (body as unknown as Found).metadata?.name];
    };
    expect([await made(), await made()]).toEqual([
      [201, "p-bbbbb"],
      [201, "p-rrrrr"],
    ]);
    expect((await made())[0]).toBe(409);
  });

  it("X-164 has one pod where its size is null", async () => {
    const { send, all } = cluster();
    await send("POST", deployments, { ...web(1), spec: { ...web(1).spec, replicas: null } });
    expect(await all(podsPath)).toHaveLength(1);
  });

  it("X-164 reaches a size of many hundreds", async () => {
    const { send, all } = cluster();
    await send("POST", deployments, web(1200));
    expect(await all(podsPath)).toHaveLength(1200);
  });

  it("X-164 says in its status why its pods cannot be created, and others go on", async () => {
    const { send, all, get } = cluster();
    const labels = { app: "web", wrong: "not a label" };
    const broken = { ...template("one"), metadata: { labels } };
    await send("POST", deployments, { ...web(1), spec: { ...web(1).spec, template: broken } });
    await send("POST", deployments, { ...web(1), metadata: { name: "other" } });
    expect(await all(podsPath)).toHaveLength(1);
    const { conditions } = (await get(`${deployments}/web`)).status;
    expect(conditions).toContainEqual(
      expect.objectContaining({
        type: "ReplicaFailure",
        status: "True",
        reason: "FailedCreate",
        message: expect.stringContaining("not a label") as unknown,
      }),
    );
    await send("PATCH", `${deployments}/web`, { spec: { template: { metadata: { labels: { wrong: null } } } } }, merge);
    expect(await all(podsPath)).toHaveLength(2);
    expect(JSON.stringify((await get(`${deployments}/web`)).status)).not.toContain("ReplicaFailure");
  });
});

describe("a Job", () => {
  it("X-164 runs as many pods at once as it says, until enough have succeeded", async () => {
    const { send, all, end, get } = cluster();
    await send("POST", jobs, work({ completions: 3, parallelism: 2 }));
    const [first, second, ...others] = await all(podsPath);
    expect(others).toEqual([]);
    await end(first?.metadata.name ?? "", { phase: "Succeeded" });
    await end(second?.metadata.name ?? "", { phase: "Succeeded" });
    expect((await get(`${jobs}/work`)).status).toMatchObject({ active: 1, succeeded: 2 });
    const last = (await all(podsPath)).find(({ status }) => status["phase"] === "Pending");
    await end(last?.metadata.name ?? "", { phase: "Succeeded" });
    const { status } = await get(`${jobs}/work`);
    expect(status).toMatchObject({ active: 0, succeeded: 3, conditions: [{ type: "Complete", status: "True" }] });
  });

  it("X-164 fails when more pods have failed than it allows", async () => {
    const { send, all, end, get } = cluster();
    await send("POST", jobs, work({ backoffLimit: 1 }));
    for (let tries = 0; tries < 2; tries++) {
      const running = (await all(podsPath)).find(({ status }) => status["phase"] === "Pending");
      await end(running?.metadata.name ?? "", { phase: "Failed" });
    }
    expect(await all(podsPath)).toHaveLength(2);
    expect((await get(`${jobs}/work`)).status).toMatchObject({ failed: 2, conditions: [{ type: "Failed" }] });
  });

  it.each([{ parallelism: -1 }, { completions: 1e9 }, { backoffLimit: "few" }])(
    "X-164 is refused with %j",
    async (spec) => {
      const { send, all } = cluster();
      expect((await send("POST", jobs, work(spec))).status).toBe(422);
      expect(await all(podsPath)).toEqual([]);
    },
  );

  it("X-164 fails when its pods cannot be created, and says why", async () => {
    const { send, all, get } = cluster();
    const broken = template("i", { restartPolicy: "Never" });
    await send("POST", jobs, work({ template: { ...broken, metadata: { labels: { wrong: "not a label" } } } }));
    expect(await all(podsPath)).toEqual([]);
    const { conditions } = (await get(`${jobs}/work`)).status;
    expect(conditions).toMatchObject([{ type: "Failed", status: "True", reason: "FailedCreate" }]);
  });
});
