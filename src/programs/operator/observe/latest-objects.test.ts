import { describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../../platform/clock/testing/index.ts";
import type { StoreView } from "../../../platform/kube/index.ts";
import { LatestObjects } from "./latest-objects.ts";

interface Thing {
  readonly metadata: { readonly uid: string; readonly resourceVersion: string };
}
const thing = (resourceVersion: string, uid = "u"): Thing => ({ metadata: { uid, resourceVersion } });

function world() {
  const clock = new VirtualClock();
  const watched = new Map<string, Thing>();
  const store: Pick<StoreView<Thing>, "getByKey" | "entries"> = {
    getByKey: (key) => watched.get(key),
    entries: () => watched.entries(),
  };
  return { clock, watched, latest: new LatestObjects(store as StoreView<Thing>, clock) };
}

describe("LatestObjects", () => {
  it("returns the response to a write until the watch has caught up, even after an older event", () => {
    const { watched, latest } = world();
    watched.set("a", thing("5"));
    latest.recordResponse("a", thing("9"));
    watched.set("a", thing("7"));
    expect(latest.get("a")).toEqual(thing("9"));
    watched.set("a", thing("10"));
    expect(latest.get("a")).toEqual(thing("10"));
  });

  it("returns a created object before the watch shows it, for a limited time", () => {
    const { clock, latest } = world();
    latest.recordResponse("a", thing("9"));
    expect(latest.get("a")).toEqual(thing("9"));
    expect([...latest.names()]).toEqual(["a"]);
    clock.advance(milliseconds(60_000));
    expect(latest.get("a")).toBeUndefined();
  });

  it("returns nothing after a deletion, and ignores a late deletion of an older object", () => {
    const { latest } = world();
    latest.recordResponse("a", thing("9", "new"));
    latest.recordDeletion("a", "old");
    expect(latest.get("a")).toEqual(thing("9", "new"));
    latest.recordDeletion("a", "new");
    expect(latest.get("a")).toBeUndefined();
  });

  it("distinguishes the echo of a response from a change", () => {
    const { latest } = world();
    latest.recordResponse("a", thing("9"));
    expect(latest.isEcho("a", thing("9"))).toBe(true);
    expect(latest.isEcho("a", thing("8"))).toBe(true);
    expect(latest.isEcho("a", thing("10"))).toBe(false);
    expect(latest.isEcho("b", thing("1"))).toBe(false);
  });
});
