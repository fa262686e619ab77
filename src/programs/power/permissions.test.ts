import { expect, it } from "vitest";
import { powerPermissions } from "./permissions.ts";
import { PowerTestHarness } from "./testing/power-test-harness.ts";

/** The resource, with its subresource, and the verb of a request. */
function neededBy(method: string, path: string): string {
  const { pathname, searchParams } = new URL(path, "http://api");
  const parts = pathname.split("/").slice(pathname.startsWith("/api/") ? 3 : 4);
  const [resource, name, part] = parts[0] === "namespaces" && parts.length > 2 ? parts.slice(2) : parts;
  const read = name !== undefined ? "get" : searchParams.has("watch") ? "watch" : "list";
  const verbs: Readonly<Record<string, string>> = { GET: read, POST: "create", PATCH: "patch", DELETE: "delete" };
  return `${part === undefined ? resource : `${resource}/${part}`} ${verbs[method]}`;
}

it("SLP-24 uses exactly the granted rights, and Secrets only by name in its own namespace", async () => {
  const harness = await PowerTestHarness.begin();
  const used = new Set<string>();
  await harness.createNode("a", { proven: false });
  await harness.createPromisedPod("elsewhere", "b", "claim");
  const running = harness.start();
  running.onRequest = ({ method, path }) => used.add(neededBy(method, path));
  await harness.requestTest("a");
  await harness.until(async () => (await harness.endpoint("a")).status?.wakeProven === true);
  await harness.advance(120);
  await harness.end();
  const rules = powerPermissions("joulie-system");
  const granted = rules.flatMap(({ resources, verbs }) =>
    resources.flatMap((resource) => verbs.map((verb) => `${resource} ${verb}`)),
  );
  // The fake machines need neither; the tests of switches cover them.
  const ofSwitches = new Set(["secrets get", "baremetalhosts get", "baremetalhosts patch", "events patch"]);
  expect(used).toEqual(new Set(granted.filter((right) => !ofSwitches.has(right))));
  const secrets = rules.filter(({ resources }) => resources.some((resource) => resource === "secrets"));
  expect(secrets).toEqual([{ namespace: "joulie-system", apiGroups: [""], resources: ["secrets"], verbs: ["get"] }]);
});
