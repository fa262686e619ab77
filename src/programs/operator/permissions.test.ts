import { expect, it } from "vitest";
import { resources } from "../../platform/kube/index.ts";
import { operatorPermissions } from "./permissions.ts";
import { OperatorTestHarness } from "./testing/test-harness.ts";

/** The resource and verb that a request needs. */
function neededBy(method: string, path: string): string {
  const { pathname, searchParams } = new URL(path, "http://api");
  const parts = pathname.split("/").slice(pathname.startsWith("/api/") ? 3 : 4);
  const [resource, name] = parts[0] === "namespaces" && parts.length > 2 ? parts.slice(2) : parts;
  const read = name !== undefined ? "get" : searchParams.has("watch") ? "watch" : "list";
  const verbs: Readonly<Record<string, string>> = { GET: read, POST: "create", PATCH: "patch", DELETE: "delete" };
  return `${resource} ${verbs[method]}`;
}

it.each([true, false])("uses exactly the granted verbs on the resources it reads, with sleep: %s", async (sleep) => {
  const harness = await OperatorTestHarness.begin();
  await harness.createNode("a");
  const used = new Set<string>();
  harness.api.faults.add({
    fault: { kind: "refused" },
    when: ({ method, path }) => {
      used.add(neededBy(method, path));
      return false;
    },
  });
  const operator = harness.start(sleep ? { SLEEP_MODE: "recommend" } : {});
  await harness.advance(130);
  await operator.stop();
  const reads = operatorPermissions("joulie-system", { sleep }).flatMap(({ resources: granted, verbs }) =>
    granted.flatMap((resource) =>
      verbs.filter((verb) => ["get", "list", "watch"].includes(verb)).map((verb) => `${resource} ${verb}`),
    ),
  );
  const reading = /^\w+ (?:get|list|watch)$/;
  expect(new Set(reads)).toEqual(new Set([...used].filter((one) => reading.test(one))));
  await harness.end();
});

it("X-12 has permission for every request, including the warning Event on a pod in any namespace", async () => {
  const harness = await OperatorTestHarness.begin();
  await harness.user.create(resources.namespaces, { metadata: { name: "team-a" } });
  await harness.createNode("a");
  await harness.createNode("b");
  const annotations = { "joulie.io/workload-class": "perfomance" };
  const containers = [{ name: "main", image: "none" }];
  const pod = { metadata: { name: "p", annotations }, spec: { containers } };
  await harness.user.create(resources.pods, pod, { namespace: "team-a" });
  const requests: { method: string; path: string }[] = [];
  harness.intercept(async (request, go) => {
    requests.push(request);
    return go();
  });
  harness.start({ WRITE_NODE_POWER_PROFILES: "true", SLEEP_MODE: "on" });
  await harness.advance(330);
  await harness.end();
  const rules = operatorPermissions("joulie-system", { sleep: true });
  const isGranted = ({ method, path }: { method: string; path: string }) => {
    const { pathname } = new URL(path, "http://api");
    const group = pathname.startsWith("/api/") ? "" : (pathname.split("/")[2] ?? "");
    const asked = /\/namespaces\/([^/]+)\/./.exec(pathname)?.[1];
    const [resource, verb] = neededBy(method, path).split(" ");
    const part = pathname.endsWith("/status") ? `${resource}/status` : resource;
    return rules.some(
      ({ namespace, apiGroups, resources: granted, verbs }) =>
        (namespace === undefined || namespace === asked) &&
        apiGroups.includes(group) &&
        granted.includes(part ?? "") &&
        verbs.includes(verb ?? ""),
    );
  };
  expect(requests.some(({ path }) => path.includes("/namespaces/team-a/events"))).toBe(true);
  expect(requests.filter((one) => !isGranted(one)).map(({ method, path }) => `${method} ${path}`)).toEqual([]);
});
