import { expect, it } from "vitest";
import { type Any, type Hand, ok } from "./hand.ts";
import { condition, lease, node, paths, pod } from "./samples.ts";

export function kubernetesContract(hand: () => Hand): void {
  it("changes only the given node labels with each kind of patch", async () => {
    const name = hand().unique("node");
    const path = `${paths.nodes}/${name}`;
    await hand().create(paths.nodes, node(name, { a: "1", b: "1" }));
    ok(await hand().patch(path, { metadata: { labels: { a: null, c: "1" } } }));
    ok(await hand().patch(path, { metadata: { labels: { d: "1" } } }, "strategic"));
    const { metadata } = ok(await hand().get(path));
    expect(metadata.labels).toMatchObject({ b: "1", c: "1", d: "1" });
    expect(metadata.labels.a).toBeUndefined();
  });

  it("merges conditions by type and replaces taints in a strategic merge patch", async () => {
    const name = hand().unique("node");
    const path = `${paths.nodes}/${name}`;
    await hand().create(paths.nodes, node(name));
    const status = async (...conditions: object[]) =>
      hand().patch(`${path}/status`, { status: { conditions } }, "strategic");
    ok(await status(condition("Ready")));
    ok(await status(condition("DiskPressure", "False")));
    const found = ok(await hand().get(path)).status.conditions;
    expect(found.map((one: Any) => one.type).toSorted()).toEqual(["DiskPressure", "Ready"]);
    const taint = (key: string) => ({ key, value: "x", effect: "NoSchedule" });
    ok(await hand().patch(path, { spec: { taints: [taint("a"), taint("b")] } }, "strategic"));
    const one = { spec: { taints: [taint("b")] } };
    expect(ok(await hand().patch(path, one, "strategic")).spec.taints).toEqual([taint("b")]);
  });

  it("ignores the status in writes to a node, and all else in writes to its status", async () => {
    const name = hand().unique("node");
    const path = `${paths.nodes}/${name}`;
    await hand().create(paths.nodes, node(name));
    ok(await hand().patch(path, { status: { capacity: { cpu: "99" } } }));
    expect(ok(await hand().get(path)).status.capacity.cpu).toBe("8");
    const patched = ok(
      await hand().patch(`${path}/status`, { spec: { unschedulable: true }, status: { capacity: { cpu: "16" } } }),
    );
    expect(patched.status.capacity).toMatchObject({ cpu: "16", memory: "32Gi" });
    expect(patched.spec.unschedulable).toBeUndefined();
  });

  it("creates a pod as Pending whatever its status says, and accepts its status through the subresource only", async () => {
    const name = hand().unique("pod");
    const created = await hand().create(paths.pods, { ...pod(name), status: { phase: "Running" } });
    expect(created.status.phase).toBe("Pending");
    expect(created.spec).toMatchObject({ schedulerName: "default-scheduler", restartPolicy: "Always" });
    const running = ok(await hand().patch(`${paths.pods}/${name}/status`, { status: { phase: "Running" } }));
    expect(running.status.phase).toBe("Running");
  });

  it("treats a PUT of the pod as it was created as unchanged", async () => {
    const name = hand().unique("pod");
    const { metadata } = await hand().create(paths.pods, pod(name));
    const replaced = ok(await hand().send("PUT", `${paths.pods}/${name}`, pod(name)));
    expect(replaced.metadata.resourceVersion).toBe(metadata.resourceVersion);
  });

  it("defaults a missing container request to the limit", async () => {
    const name = hand().unique("pod");
    const resources = { limits: { cpu: "2", memory: "1Gi" }, requests: { cpu: "1" } };
    const containers = [{ name: "main", image: "example.org/none", resources }];
    const { spec } = await hand().create(paths.pods, pod(name, {}, { containers }));
    expect(spec.containers[0].resources.requests).toEqual({ cpu: "1", memory: "1Gi" });
  });

  it("binds a pod to a node once and rejects a second binding with 409", async () => {
    const name = hand().unique("pod");
    const path = `${paths.pods}/${name}`;
    await hand().create(paths.pods, pod(name));
    const binding = (target: string) => ({
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name },
      target: { apiVersion: "v1", kind: "Node", name: target },
    });
    const first = await hand().send("POST", `${path}/binding`, binding("one"));
    expect([first.status, first.body.kind, first.body.status]).toEqual([201, "Status", "Success"]);
    const second = await hand().send("POST", `${path}/binding`, binding("two"));
    expect([second.status, second.body.reason]).toEqual([409, "Conflict"]);
    const { spec, status } = ok(await hand().get(path));
    expect(spec.nodeName).toBe("one");
    expect(status.conditions).toEqual([expect.objectContaining({ type: "PodScheduled", status: "True" })]);
    const other = { ...binding("one"), metadata: { name: `${name}x` } };
    expect((await hand().send("POST", `${paths.pods}/${name}x/binding`, other)).status).toBe(404);
  });

  it("removes an unbound pod immediately, and marks a running one as terminating", async () => {
    const [free, bound] = [hand().unique("pod"), hand().unique("pod")];
    await hand().create(paths.pods, pod(free));
    await hand().create(paths.pods, pod(bound, {}, { nodeName: "somewhere", terminationGracePeriodSeconds: 3600 }));
    ok(await hand().send("DELETE", `${paths.pods}/${free}`));
    expect((await hand().get(`${paths.pods}/${free}`)).status).toBe(404);
    ok(await hand().send("DELETE", `${paths.pods}/${bound}`));
    const { metadata } = ok(await hand().get(`${paths.pods}/${bound}`));
    expect(metadata.deletionTimestamp).toBeDefined();
    expect(metadata.deletionGracePeriodSeconds).toBe(3600);
    ok(await hand().send("DELETE", `${paths.pods}/${bound}`, { gracePeriodSeconds: 0 }));
    expect((await hand().get(`${paths.pods}/${bound}`)).status).toBe(404);
  });

  it("evicts a pod like a delete, with the requested grace period", async () => {
    const name = hand().unique("pod");
    const path = `${paths.pods}/${name}`;
    const eviction = (subject: string, deleteOptions: object = {}) => ({
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name: subject, namespace: "default" },
      deleteOptions,
    });
    await hand().create(paths.pods, pod(name, {}, { nodeName: "somewhere", terminationGracePeriodSeconds: 3600 }));
    const evict = async (options?: object) => hand().send("POST", `${path}/eviction`, eviction(name, options));
    const first = await evict();
    expect([first.status, first.body.kind, first.body.status]).toEqual([201, "Status", "Success"]);
    expect(ok(await hand().get(path)).metadata.deletionGracePeriodSeconds).toBe(3600);
    expect((await evict({ gracePeriodSeconds: 0 })).status).toBe(201);
    expect((await hand().get(path)).status).toBe(404);
    expect((await evict()).status).toBe(404);
  });

  it("rejects a create in a missing namespace with 404", async () => {
    const { status, body } = await hand().send("POST", "/api/v1/namespaces/nowhere/pods", pod("x"));
    expect([status, body.reason]).toEqual([404, "NotFound"]);
    expect(body.message).toBe('namespaces "nowhere" not found');
  });

  it("lets one of two candidates take a lease and stores its times with microseconds", async () => {
    const name = hand().unique("lease");
    const path = `${paths.leases}/${name}`;
    const renewTime = "2030-01-31T12:00:00.123456Z";
    const first = await hand().create(
      paths.leases,
      lease(name, { holderIdentity: "a", leaseDurationSeconds: 15, renewTime }),
    );
    expect(first.spec.renewTime).toBe(renewTime);
    const take = async (holderIdentity: string) =>
      hand().send("PUT", path, { ...first, spec: { ...first.spec, holderIdentity } });
    const answers = await Promise.all([take("b"), take("c")]);
    expect(answers.map(({ status }) => String(status)).toSorted()).toEqual(["200", "409"]);
    const winner = answers.find(({ status }) => status === 200)?.body.spec.holderIdentity;
    expect(ok(await hand().get(path)).spec.holderIdentity).toBe(winner);
  });

  it("serves an event of events.k8s.io in the core group as well", async () => {
    const name = hand().unique("event");
    await hand().create(paths.events, {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name },
      eventTime: "2030-01-31T12:00:00.000000Z",
      reportingController: "joulie.io/operator",
      reportingInstance: "here",
      action: "Draining",
      reason: "ProfileChanged",
      type: "Normal",
      note: "the node goes to eco",
      regarding: { kind: "Node", name: `${name}-node`, namespace: "default" },
    });
    const selector = new URLSearchParams({ fieldSelector: `involvedObject.name=${name}-node` }).toString();
    const { items } = ok(await hand().get(`/api/v1/namespaces/default/events?${selector}`));
    expect(items).toHaveLength(1);
    expect(items[0]).toMatchObject({
      message: "the node goes to eco",
      reason: "ProfileChanged",
      involvedObject: { kind: "Node", name: `${name}-node` },
      reportingComponent: "joulie.io/operator",
    });
    const byNode = async (node: string) => {
      const query = new URLSearchParams({ fieldSelector: `regarding.name=${node}` }).toString();
      return ok(await hand().get(`${paths.events}?${query}`)).items.length;
    };
    expect([await byNode(`${name}-node`), await byNode("another")]).toEqual([1, 0]);
    const series = { series: { count: 3, lastObservedTime: "2030-01-31T12:01:00.000000Z" } };
    ok(await hand().patch(`${paths.events}/${name}`, series));
    expect(ok(await hand().get(`${paths.events}/${name}`)).series.count).toBe(3);
  });
}
