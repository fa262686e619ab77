import { describe, expect, it } from "vitest";
import { NodeMatcher } from "./node-matcher.ts";

const nodes = ["worker-1", "gpu.example.com", "db.a.example", "db.b.example", "10.0.0.7"];
const matcher = new NodeMatcher(nodes);

describe("NodeMatcher", () => {
  it.each<[Record<string, string>, string]>([
    [{ node: "worker-1" }, "worker-1"],
    [{ node_name: "gpu.example.com" }, "gpu.example.com"],
    [{ nodename: "worker-1" }, "worker-1"],
    [{ kubernetes_node: "worker-1" }, "worker-1"],
    [{ Hostname: "worker-1" }, "worker-1"],
    [{ hostname: "WORKER-1" }, "worker-1"],
    [{ instance: "worker-1:9100" }, "worker-1"],
    [{ instance: "worker-1.dc.example:9100" }, "worker-1"],
    [{ instance: "gpu:9400" }, "gpu.example.com"],
    [{ instance: "10.0.0.7:9100" }, "10.0.0.7"],
    [{ instance: "db.b.example:9100" }, "db.b.example"],
    // Old Kepler, scraped without honor_labels.
    [{ exported_instance: "worker-1", instance: "10.1.2.3:9102" }, "worker-1"],
    [{ exported_instance: "gpu", instance: "worker-1:9102" }, "gpu.example.com"],
    // A central exporter on one of our nodes that measures another node.
    [{ exported_node: "worker-1", node: "gpu.example.com" }, "worker-1"],
    // DCGM without a node name: the pod is not a node, so the address decides.
    [{ Hostname: "dcgm-exporter-x7", instance: "worker-1:9400" }, "worker-1"],
    [{ node: "", instance: "worker-1" }, "worker-1"],
  ])("finds the node of %j", (labels, node) => {
    expect(matcher.match(labels)).toEqual({ node });
  });

  it.each<[Record<string, string>]>([
    [{}],
    [{ instance: "" }],
    [{ instance: "worker-2:9100" }],
    [{ instance: "worker-10" }],
    // A different domain is a different host.
    [{ instance: "gpu.example.org:9100" }],
    [{ instance: "db.c.example:9100" }],
    // The first part of an address is not a host name.
    [{ instance: "10.0.0.8:9100" }],
    [{ instance: "[::1]:9100" }],
    [{ pod: "worker-1" }],
    // A node of another cluster, measured by an exporter on one of our nodes.
    [{ node: "not-managed", instance: "worker-1:9100" }],
  ])("finds none for %j", (labels) => {
    expect(matcher.match(labels)).toBe("unmatched");
  });

  it("does not guess between nodes with the same host name", () => {
    expect(matcher.match({ instance: "db:9100" })).toBe("ambiguous");
    expect(matcher.match({ node: "db" })).toBe("ambiguous");
    expect(matcher.match({ hostname: "db", instance: "db.a.example:9100" })).toEqual({ node: "db.a.example" });
    expect(new NodeMatcher(["a", "a.example"]).match({ instance: "a:1" })).toEqual({ node: "a" });
    expect(new NodeMatcher(["a", "a.example"]).match({ instance: "a.other:1" })).toBe("unmatched");
  });

  it("matches IPv6 addresses with and without port, and ignores inherited properties", () => {
    const six = new NodeMatcher(["fd00::7", "constructor"]);
    expect(six.match({ instance: "[fd00::7]:9100" })).toEqual({ node: "fd00::7" });
    expect(six.match({ instance: "fd00::7" })).toEqual({ node: "fd00::7" });
    expect(new NodeMatcher([]).match({ node: "constructor" })).toBe("unmatched");
  });
});
