import { describe, expect, it } from "vitest";
import { labels } from "../../../core/api/index.ts";
import { readRequest } from "./request.ts";
import { AmbiguousKeyError } from "./request-error.ts";
import { RequestReader } from "./request-reader.ts";
import { expectSameAsJsonParse } from "./testing/compare-with-json-parse.ts";

const twice = Buffer.from(
  `{"pod":{"metadata":{"name":"first"}},"pod":{"metadata":{"name":"last"}},"nodes":{"items":[{}],"items":[
    {"metadata":{"name":"x"},"metadata":{"labels":null,"n\\u0061me":"b","labels":{"joulie.io/power-profile":"eco"}}, "z":1 },
    {"metadata":{"name":"a","name":"c","labels":{"joulie.io\\/power-profile":"eco","joulie.io/power-profile":7}}}]}}`,
);

describe("RequestReader", () => {
  it("X-19 reads a repeated key like JSON.parse, and returns the original bytes of the Nodes", () => {
    expect(() => readRequest(twice)).toThrow(AmbiguousKeyError);
    const { pod, candidates } = new RequestReader(labels).read(twice);
    expect(pod).toEqual({ metadata: { name: "last" } });
    expect([candidates.name(0), candidates.name(1)]).toEqual(["b", "c"]);
    expect([candidates.powerProfile(0), candidates.powerProfile(1)]).toEqual(["eco", undefined]);
    const raw = candidates.raw(0);
    expect(raw.buffer).toBe(twice.buffer);
    expect(raw.toString()).toMatch(/^\{"metadata":\{"name":"x"\},.* "z":1 \}$/);
    expectSameAsJsonParse({ pod, candidates }, twice);
  });

  it("reads the configured labels of such a request", () => {
    const reader = new RequestReader({ powerProfile: "site/profile", draining: "site/draining" });
    const node = '{"metadata":{"name":"a","labels":{"site/profile":"eco","site/draining":"true"}}}';
    const { candidates } = reader.read(Buffer.from(`{"pod":{},"pod":{},"nodes":{"items":[${node}]}}`));
    expect([candidates.powerProfile(0), candidates.draining(0)]).toEqual(["eco", "true"]);
  });

  it("rejects an invalid request with repeated keys, and one above 4 MiB", () => {
    const read = (body: string) => () => new RequestReader(labels).read(Buffer.from(body));
    expect(read('{"pod":{},"pod":{},"nodenames":["a"')).toThrow(expect.objectContaining({ status: 400 }));
    expect(read('{"pod":{},"Pod":{},"nodenames":["a"]}')).toThrow(/pod is also given as Pod/);
    expect(read('{"pod":{},"nodenames":["a"],"nodenames":[1]}')).toThrow(/NodeNames\[0\]/);
    expect(read(`{"pod":{},"pod":{},"x":"${"x".repeat(4 << 20)}"}`)).toThrow(expect.objectContaining({ status: 413 }));
  });
});
