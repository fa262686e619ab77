import { expect, it } from "vitest";
import { operatorPermissions } from "./permissions.ts";
import { Trial } from "./trial.ts";

/** The resource and verb that a request needs. */
function neededBy(method: string, path: string): string {
  const { pathname, searchParams } = new URL(path, "http://api");
  const parts = pathname.split("/").slice(pathname.startsWith("/api/") ? 3 : 4);
  const [resource, name] = parts[0] === "namespaces" && parts.length > 2 ? parts.slice(2) : parts;
  const read = name !== undefined ? "get" : searchParams.has("watch") ? "watch" : "list";
  const verbs: Readonly<Record<string, string>> = { GET: read, POST: "create", PATCH: "patch", DELETE: "delete" };
  return `${resource} ${verbs[method]}`;
}

it("the verbs it is granted on what it reads are the verbs it uses", async () => {
  const trial = await Trial.begin();
  await trial.createNode("a");
  const used = new Set<string>();
  trial.api.faults.add({
    fault: { kind: "refused" },
    when: ({ method, path }) => {
      used.add(neededBy(method, path));
      return false;
    },
  });
  const operator = trial.start();
  await trial.pass(130);
  await operator.stop();
  const reads = operatorPermissions("joulie-system").flatMap(({ resources: [resource], verbs }) =>
    verbs.filter((verb) => ["get", "list", "watch"].includes(verb)).map((verb) => `${resource} ${verb}`),
  );
  const reading = /^\w+ (?:get|list|watch)$/;
  expect(new Set(reads)).toEqual(new Set([...used].filter((one) => reading.test(one))));
  await trial.end();
});
