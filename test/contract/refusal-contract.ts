import { expect, it } from "vitest";
import { type Hand, ok } from "./hand.ts";
import { paths, twin } from "./samples.ts";

export function refusalContract(hand: () => Hand): void {
  const refused: [what: string, spec: object, field: string][] = [
    ["a word outside the enum", { profile: "turbo" }, "spec.profile"],
    ["a number below the minimum", { cpu: { packagePowerCapWatts: 0 } }, "spec.cpu.packagePowerCapWatts"],
    ["a number at an exclusive minimum", { cpu: { packagePowerCapPctOfMax: 0 } }, "spec.cpu.packagePowerCapPctOfMax"],
    ["a number above the maximum", { cpu: { packagePowerCapPctOfMax: 101 } }, "spec.cpu.packagePowerCapPctOfMax"],
    ["text where a number belongs", { cpu: { packagePowerCapWatts: "120" } }, "spec.cpu.packagePowerCapWatts"],
    ["text where a boolean belongs", { scheduling: { draining: "yes" } }, "spec.scheduling.draining"],
    ["an object where text belongs", { policy: { name: {} } }, "spec.policy.name"],
    ["a required field left out", { profile: undefined }, "spec.profile"],
    ["text that does not fit its pattern", { nodeName: "Not A Name" }, "spec.nodeName"],
    ["text that is too long", { policy: { name: "x".repeat(254) } }, "spec.policy.name"],
  ];
  it.each(refused)("rejects %s with 422 Invalid and names the field", async (_what, spec, field) => {
    const name = hand().unique("bad");
    const { status, body } = await hand().send("POST", paths.twins, twin(name, spec));
    expect(status).toBe(422);
    expect(body).toMatchObject({ reason: "Invalid", details: { name, kind: "NodeTwin" } });
    expect(body.details.causes.map((cause: { field: string }) => cause.field)).toContain(field);
    expect(body.message).toContain(field);
    expect((await hand().get(`${paths.twins}/${name}`)).status).toBe(404);
  });

  it("rejects an invalid date", async () => {
    const name = hand().unique("conditions");
    await hand().create(paths.twins, twin(name));
    const one = {
      type: "Ready",
      status: "True",
      lastTransitionTime: "2030-01-31T12:00:00Z",
      reason: "Because",
      message: "",
    };
    const status = { lastUpdated: "yesterday" };
    expect((await hand().patch(`${paths.twins}/${name}/status`, { status })).status).toBe(422);
    expect((await hand().patch(`${paths.twins}/${name}/status`, { status: { conditions: [one] } })).status).toBe(200);
  });

  it("rejects unreadable requests: bad JSON 400, an unknown patch type 415", async () => {
    const name = hand().unique("garbled");
    expect((await hand().send("POST", paths.twins, "{")).status).toBe(400);
    await hand().create(paths.twins, twin(name));
    const strange = await hand().send("PATCH", `${paths.twins}/${name}`, "{}", { "content-type": "text/plain" });
    expect(strange.status).toBe(415);
    const odd = await hand().send("PATCH", `${paths.twins}/${name}`, "{}", { "content-type": "constructor" });
    expect(odd.status).toBe(415);
    expect((await hand().patch(`${paths.twins}/${name}`, { metadata: { labels: { "not a key": "x" } } })).status).toBe(
      422,
    );
    expect(
      (await hand().patch(`${paths.twins}/${name}`, { metadata: { labels: { key: "not a value" } } })).status,
    ).toBe(422);
    expect((await hand().send("POST", paths.twins, { ...twin("x"), metadata: { name: "Bad_Name" } })).status).toBe(422);
  });

  it("rejects an object with 100,000 levels with 400 and keeps serving", async () => {
    const name = hand().unique("deep");
    const deep = `{"metadata":{"name":"${name}"},"x":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    expect((await hand().send("POST", paths.nodes, deep)).status).toBe(400);
    expect((await hand().get(`${paths.nodes}/${name}`)).status).toBe(404);
    ok(await hand().get(paths.nodes));
  });
}
