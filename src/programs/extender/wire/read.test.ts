import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RequestError } from "./json-bytes.ts";
import { RequestReader, readRequest } from "./request.ts";
import { compareWithJsonParse } from "./testing/compare-with-json-parse.ts";
import { mutate, randomRequest, respell, seededDice } from "./testing/random-requests.ts";

const read = (text: string | Buffer) => readRequest(Buffer.from(text));
const namesOf = (text: string) => {
  const { candidates } = read(text);
  return Array.from({ length: candidates.count }, (_, i) => candidates.name(i));
};

/** The error message for an invalid request. */
function refusal(text: string | Buffer): string {
  try {
    read(text);
  } catch (error) {
    if (error instanceof RequestError && error.status === 400) return error.message;
    throw error;
  }
  throw new Error(`read ${text.toString()}`);
}

describe("readRequest", () => {
  it("X-19 reads names and Nodes, in kube-scheduler's spelling and in any other case", () => {
    expect(namesOf('{"Pod":{},"Nodes":null,"NodeNames":["a","b"]}')).toEqual(["a", "b"]);
    expect(namesOf('{"pod":{},"nodenames":["a","b"]}')).toEqual(["a", "b"]);
    expect(namesOf('{"pod":{},"nodeNames":["a"],"nodes":null}')).toEqual(["a"]);
    expect(namesOf('{"Pod":{},"Nodes":{"metadata":{},"items":[{"metadata":{"name":"a"}}]},"NodeNames":null}')).toEqual([
      "a",
    ]);
    expect(namesOf('{"POD":{},"NODES":{"items":[{"metadata":{"name":"a"}}]}}')).toEqual(["a"]);
  });

  it("SCH-52 accepts a request written by hand", () => {
    const { pod, candidates } = read(`{
      "pod": {"metadata": {"name": "p", "annotations": {"joulie.io/workload-class": "performance"}}},
      "nodes": {"items": [
        {"status": {"a": ["]}"]}, "metadata": {"labels": {"joulie.io/power-profile": "eco"}, "name": "one"}},
        {"metadata": {"name": "two", "annotations": {"name": "not me", "joulie.io/power-profile": "eco"}}}
      ]}
    }`);
    expect(pod).toEqual({ metadata: { name: "p", annotations: { "joulie.io/workload-class": "performance" } } });
    expect(candidates).toMatchObject({ kind: "nodes", count: 2 });
    expect([candidates.name(0), candidates.powerProfile(0)]).toEqual(["one", "eco"]);
    expect([candidates.name(1), candidates.powerProfile(1)]).toEqual(["two", undefined]);
    expect(candidates.raw(1).toString()).toBe(
      '{"metadata": {"name": "two", "annotations": {"name": "not me", "joulie.io/power-profile": "eco"}}}',
    );
  });

  it("X-19 SCH-52 reads any serialization of any request like JSON.parse", () => {
    fc.assert(
      fc.property(fc.nat(), fc.boolean(), fc.nat(30), (seed, breaks, unusual) => {
        const roll = seededDice(seed);
        const body = Buffer.from(respell(randomRequest(roll), roll, unusual));
        expect(compareWithJsonParse(breaks ? mutate(body, roll) : body)).toBeDefined();
      }),
      { numRuns: 2000 },
    );
  });

  it("accepts any JSON in fields that it skips", () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: "binary" }), fc.nat(), (json, seed) => {
        const text = `{"x":${json},"Pod":{"y":${json}},"nodes":{"z":${json},"items":[{"w":${json},"metadata":{"v":${json},"name":"a"}}]}}`;
        expect(compareWithJsonParse(Buffer.from(text))).toBe("read");
        expect(compareWithJsonParse(Buffer.from(respell(JSON.parse(text), seededDice(seed))))).toBe("read");
      }),
    );
  });

  it("checks only quotes and brackets of fields that it skips, and rejects a Pod that is not JSON", () => {
    const around = (value: string) => `{"pod":{},"nodes":{"items":[{"metadata":{"name":"a"},"x":${value}}]}}`;
    for (const value of ["01", "nul", '"\\x"', "[1,,]", "{1:2}"])
      expect(compareWithJsonParse(Buffer.from(around(value)))).toBe("invalid");
    for (const value of ["[1", '{"a', "", "]", '"\\"', "1 2"])
      expect(compareWithJsonParse(Buffer.from(around(value)))).toBe("refused");
    expect(refusal('{"pod":{"a":01},"nodenames":["a"]}')).toBe("Pod is not valid JSON, at byte 7");
  });

  it("rejects each truncation of a request", () => {
    const whole = Buffer.from(
      '{"Pod":{"a":[1,true]},"Nodes":{"items":[{"metadata":{"name":"é","labels":{"k":"v"}}}]}}',
    );
    expect(compareWithJsonParse(whole)).toBe("read");
    for (let length = 0; length < whole.length; length++) refusal(whole.subarray(0, length));
  });

  it("reports the position and what was expected", () => {
    expect(refusal("")).toBe("the body is not as expected at byte 0: expected {, found the end");
    expect(refusal('\ufeff{"pod":{}}')).toMatch(/byte 0: expected {, found a byte order mark/);
    expect(refusal('{"pod":{} 1}')).toMatch(/byte 10: expected , or }, found 1/);
    expect(refusal('{"pod":{}} x')).toMatch(/byte 11: expected nothing more, found x/);
    expect(refusal(Buffer.from([...Buffer.from('{"pod":{},"x":"'.padEnd(200, "é")), 0xff, 0x22, 0x7d]))).toMatch(
      /not UTF-8/,
    );
    expect(refusal('{"nodenames":[]}')).toBe("the request has no Pod");
    expect(refusal('{"pod":[],"nodenames":[]}')).toBe("Pod is not an object at byte 7");
    expect(refusal('{"pod":{}}')).toBe("the request has neither Nodes nor NodeNames");
    expect(refusal('{"pod":{},"nodes":[]}')).toBe("Nodes is not an object at byte 18");
    expect(refusal('{"pod":{},"nodes":{"items":{}}}')).toBe("Nodes.items is not a list at byte 27");
    expect(refusal('{"pod":{},"nodenames":["a", 5]}')).toBe("NodeNames[1] is missing or not a string, at byte 28");
    expect(refusal('{"pod":{},"nodenames":["a",""]}')).toBe("NodeNames[1] is empty, at byte 28");
    const noName = '{"pod":{},"nodes":{"items":[{"metadata":{"name":"a"}},{"metadata":{"labels":{}}}]}}';
    expect(refusal(noName)).toBe("Nodes.items[1].metadata.name is missing or not a string, at byte 54");
  });

  it("uses Nodes if both lists are present, and NodeNames if Nodes has no items", () => {
    expect(read('{"pod":{},"nodenames":["n"],"nodes":{"items":[{"metadata":{"name":"a"}}]}}').candidates.kind).toBe(
      "nodes",
    );
    expect(read('{"pod":{},"nodenames":["n"],"nodes":{"items":[]}}').candidates.kind).toBe("names");
    expect(read('{"pod":{},"nodes":{"metadata":{},"items":null}}').candidates).toMatchObject({
      kind: "nodes",
      count: 0,
    });
  });

  it("does not know keys with escapes", () => {
    expect(refusal('{"p\\u006fd":{},"nodenames":["a"]}')).toBe("the request has no Pod");
    const skipped = '{"pod":{"a":1,"a":2,"\\u0061":3},"x":{"a":1,"a":2},"nodenames":["a"]}';
    expect(compareWithJsonParse(Buffer.from(skipped))).toBe("read");
  });

  it("reads a repeated key like JSON.parse: the last one wins", () => {
    const labelled = '{"name":"x","labels":{"joulie.io/power-profile":"eco"}}';
    const texts = [
      `{"pod":{},"nodes":{"items":[{"metadata":${labelled},"metadata":{"name":"a"}}]}}`,
      `{"pod":{},"nodes":{"items":[{"metadata":{"name":"a","labels":{"joulie.io/power-profile":"eco"},"labels":{}}}]}}`,
      `{"pod":{},"nodes":{"items":[{"metadata":${labelled}}]},"nodes":null,"nodenames":["a"]}`,
      `{"pod":{},"nodenames":["x","y"],"nodenames":["a"]}`,
      `{"pod":{},"nodes":{"items":[{"metadata":${labelled}}],"items":[]}}`,
    ];
    for (const text of texts) expect(compareWithJsonParse(Buffer.from(text))).toBe("read");
    expect(
      compareWithJsonParse(Buffer.from(`{"pod":{},"nodes":{"items":[{"metadata":${labelled},"metadata":null}]}}`)),
    ).toBe("refused");
  });

  it("reads documents of any depth", () => {
    const deep = (levels: number) => `{"pod":{},"nodenames":["a"],"x":${"[".repeat(levels)}${"]".repeat(levels)}}`;
    expect(namesOf(deep(1_000_000))).toEqual(["a"]);
    expect(refusal(`{"pod":${'{"a":'.repeat(1_000_000)}`)).toMatch(/expected the end of a value/);
    expect(refusal("[".repeat(1_000_000))).toMatch(/byte 0: expected {/);
  });

  it("rejects more than 100,000 nodes, and a pod larger than Kubernetes stores", () => {
    expect(() => read(`{"pod":{},"nodenames":[${'"a",'.repeat(100_000)}"a"]}`)).toThrow(
      expect.objectContaining({ status: 413 }),
    );
    expect(() => read(`{"pod":{"a":"${"x".repeat(1_600_000)}"},"nodenames":[]}`)).toThrow(
      expect.objectContaining({ status: 413 }),
    );
  });

  it("names the position of the first name beyond the limit", () => {
    const body = Buffer.from(`{"pod":{},"nodenames":[${'"a",'.repeat(100_000)}"a"]}`);
    expect(() => readRequest(body)).toThrow(`at byte ${body.lastIndexOf('"a"')}`);
  });

  it("looks names up by their characters, and rejects names with escapes", () => {
    const known = ["worker-1", "größe"];
    const index = { slotOf: (name: string) => known.indexOf(name) };
    const names = '["worker-1", "größe" ,"gone","worker-11","w"]';
    const expected = [0, 1, -1, -1, -1];
    const slots = new Int32Array(5);
    read(`{"pod":{},"nodenames":${names}}`).candidates.slots(index, slots);
    expect([...slots]).toEqual(expected);
    const items = (JSON.parse(names) as string[]).map((name) => ({ metadata: { name } }));
    slots.fill(9);
    read(JSON.stringify({ pod: {}, nodes: { items } })).candidates.slots(index, slots);
    expect([...slots]).toEqual(expected);
    expect(refusal('{"pod":{},"nodenames":["worker\\u002d1"]}')).toBe("the name at byte 24 has an escape");
    expect(refusal('{"pod":{},"nodes":{"items":[{"metadata":{"name":"\\n"}}]}}')).toMatch(/at byte 49 has an escape/);
  });

  it("reads the configured labels, and returns the original bytes of the Nodes", () => {
    const reader = new RequestReader({ powerProfile: "site/profile", draining: "site/draining" });
    const node = '{"metadata":{"name":"a","labels":{"site/profile":"eco","site/draining":"true"}}}';
    const body = Buffer.from(`{"pod":{},"nodes":{"items":[${node}]}}`);
    const { candidates } = reader.read(body);
    expect([candidates.powerProfile(0), candidates.draining(0)]).toEqual(["eco", "true"]);
    expect(candidates.raw(0).toString()).toBe(node);
    expect(candidates.raw(0).buffer).toBe(body.buffer);
  });

  it("has no Nodes and no labels in a request with names only", () => {
    const { candidates } = read('{"pod":{},"nodenames":["a"]}');
    expect(candidates.powerProfile(0)).toBeUndefined();
    expect(() => candidates.raw(0)).toThrow(/names only/);
  });
});
