import { describe, expect, it } from "vitest";
import { ListWatchSync } from "./list-watch-sync.ts";
import { type Change, ObjectStore } from "./object-store.ts";

describe("Mirror", () => {
  it("notifies listeners of stored changes even if an unexpected error ends the batch", () => {
    const store = new ObjectStore<string>({});
    const reported: Change<string>[] = [];
    const mirror = new ListWatchSync({
      store,
      project: ({ metadata }) => {
        if (metadata.name === "bad") throw new Error("cannot be read");
        return metadata.name;
      },
      onChange: (changes) => reported.push(...changes),
      onUnreadable: () => {
        throw new Error("the log is full");
      },
    });
    const added = (name: string, resourceVersion: string) =>
      ({ type: "ADDED", object: { metadata: { name, uid: name, resourceVersion } } }) as const;
    expect(() => mirror.apply([added("a", "1"), added("bad", "2"), added("c", "3")])).toThrow("the log is full");
    expect(reported).toEqual([{ type: "added", key: "a", new: "a" }]);
    // The resourceVersion stays before the failed event, so a watch from here delivers the rest.
    expect([[...store.keys()], mirror.resourceVersion]).toEqual([["a"], "1"]);
  });
});
