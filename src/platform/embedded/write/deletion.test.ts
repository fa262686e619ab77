import { describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { apiHarness, minimalPod, podsPath } from "../testing/api-harness.ts";

const merge = { "content-type": "application/merge-patch+json" };
const held = (name: string, spec: object = { nodeName: "n" }) => ({
  ...minimalPod(name, spec),
  metadata: { name, finalizers: ["example.org/hold"] },
});
const letGo = { metadata: { finalizers: null } };

describe("a bound pod with a finalizer", () => {
  it("is deleted when the finalizer is removed after the grace period", async () => {
    const { clock, send, watch } = apiHarness();
    await send("POST", podsPath, held("p"));
    const seen = await watch(`${podsPath}?watch=1`);
    await send("DELETE", `${podsPath}/p`, { gracePeriodSeconds: 5 });
    await clock.advanceAsync(milliseconds(4999));
    expect((await send("GET", `${podsPath}/p`)).body.metadata).toMatchObject({ deletionGracePeriodSeconds: 5 });
    await clock.advanceAsync(milliseconds(1));
    expect((await send("GET", `${podsPath}/p`)).body.metadata).toMatchObject({ deletionGracePeriodSeconds: 0 });
    await send("PATCH", `${podsPath}/p`, letGo, merge);
    expect((await send("GET", `${podsPath}/p`)).status).toBe(404);
    expect(seen.events.map(({ type }) => type)).toEqual(["ADDED", "MODIFIED", "MODIFIED", "DELETED"]);
  });

  it("stays until the end of its grace period if the finalizer is removed earlier, and is written once", async () => {
    const { clock, send, watch } = apiHarness();
    for (const name of ["early", "twice"]) await send("POST", podsPath, held(name));
    await send("DELETE", `${podsPath}/early`, { gracePeriodSeconds: 5 });
    await send("PATCH", `${podsPath}/early`, letGo, merge);
    expect((await send("GET", `${podsPath}/early`)).status).toBe(200);
    for (const gracePeriodSeconds of [20, 5]) await send("DELETE", `${podsPath}/twice`, { gracePeriodSeconds });
    const seen = await watch(`${podsPath}?watch=1`);
    await clock.advanceAsync(milliseconds(5000));
    expect((await send("GET", `${podsPath}/early`)).status).toBe(404);
    await clock.advanceAsync(milliseconds(20_000));
    expect(seen.events.map(({ type }) => type)).toEqual(["ADDED", "ADDED", "DELETED", "MODIFIED"]);
  });

  it("is not affected by the timer of an earlier pod of the same name", async () => {
    const { clock, send } = apiHarness();
    await send("POST", podsPath, minimalPod("p", { nodeName: "n" }));
    await send("DELETE", `${podsPath}/p`, { gracePeriodSeconds: 5 });
    await send("DELETE", `${podsPath}/p`, { gracePeriodSeconds: 0 });
    await send("POST", podsPath, minimalPod("p", { nodeName: "n" }));
    await send("DELETE", `${podsPath}/p`, { gracePeriodSeconds: 60 });
    await clock.advanceAsync(milliseconds(5000));
    expect((await send("GET", `${podsPath}/p`)).status).toBe(200);
  });
});
