import { describe, expect, it } from "vitest";
import { EmbeddedStore } from "./store.ts";

describe("Store", () => {
  it("changes nothing and notifies no listener when an object cannot be serialized", () => {
    const store = new EmbeddedStore(10);
    const collection = store.collection("/nodes");
    const heard: string[] = [];
    store.listen(({ current }) => heard.push(current.key));
    const metadata = { name: "deep", uid: "", resourceVersion: "", creationTimestamp: "" };
    const x = JSON.parse("[".repeat(100_000) + "]".repeat(100_000)) as unknown;
    const { version } = store;
    expect(() => store.put(collection, { kind: "Node", apiVersion: "v1", metadata, x })).toThrow(RangeError);
    expect([collection.list(), collection.history.since(version), heard, store.version]).toEqual([[], [], [], version]);
  });
});
