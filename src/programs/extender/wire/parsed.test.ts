import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { differsAt, readParsed } from "./parsed.ts";
import { requestOf } from "./request.ts";
import { dice, oracle, randomRequest, spelled } from "./test-documents.ts";

const LABEL = "joulie.io/power-profile";

describe("readParsed", () => {
  it("says what the walk over the bytes says, of every request that is one", () => {
    let requests = 0;
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const roll = dice(seed);
        const text = spelled(randomRequest(roll), roll, 30);
        const body = Buffer.from(text);
        if (oracle(body) === undefined) return;
        requests++;
        expect(differsAt(requestOf(body, "last").candidates, readParsed(text, LABEL, "joulie.io/draining"))).toBe(-1);
      }),
      { numRuns: 1000 },
    );
    expect(requests).toBeGreaterThan(100);
  });
});

describe("differsAt", () => {
  const item = (name: string, profile: string) => ({ metadata: { name, labels: { [LABEL]: profile } } });
  const body = JSON.stringify({ pod: {}, nodes: { items: [item("a", "eco"), item("b", "performance")] } });
  const { candidates } = requestOf(Buffer.from(body), "last");

  it("is where a name, a label or the number of nodes is another", () => {
    const profiles = ["eco", "performance"];
    const drainings: string[] = [];
    expect(differsAt(candidates, { names: ["a", "b"], profiles, drainings })).toBe(-1);
    expect(differsAt(candidates, { names: ["a", "c"], profiles, drainings })).toBe(1);
    expect(differsAt(candidates, { names: ["a", "b"], profiles: [], drainings })).toBe(0);
    expect(differsAt(candidates, { names: ["a"], profiles, drainings })).toBe(1);
    expect(differsAt(candidates, { names: ["a", "b"], profiles, drainings: [undefined, "true"] })).toBe(1);
    expect(differsAt(candidates, { names: ["a", "b", "c"], profiles, drainings })).toBe(2);
  });
});
