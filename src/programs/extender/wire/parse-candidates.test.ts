import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { firstDifference, parseCandidates } from "./parse-candidates.ts";
import { scanRequest } from "./request.ts";
import { randomRequest, readWithJsonParse, respell, seededDice } from "./testing/random-requests.ts";

const LABEL = "joulie.io/power-profile";

describe("parseCandidates", () => {
  it("agrees with the byte scan for every valid request", () => {
    let requests = 0;
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const roll = seededDice(seed);
        const text = respell(randomRequest(roll), roll, 30);
        const body = Buffer.from(text);
        if (readWithJsonParse(body) === undefined) return;
        requests++;
        expect(
          firstDifference(scanRequest(body, "last").candidates, parseCandidates(text, LABEL, "joulie.io/draining")),
        ).toBe(-1);
      }),
      { numRuns: 1000 },
    );
    expect(requests).toBeGreaterThan(100);
  });
});

describe("firstDifference", () => {
  const item = (name: string, profile: string) => ({ metadata: { name, labels: { [LABEL]: profile } } });
  const body = JSON.stringify({ pod: {}, nodes: { items: [item("a", "eco"), item("b", "performance")] } });
  const { candidates } = scanRequest(Buffer.from(body), "last");

  it("is the first candidate with a different name or label, or a missing one", () => {
    const profiles = ["eco", "performance"];
    const drainings: string[] = [];
    expect(firstDifference(candidates, { names: ["a", "b"], profiles, drainings })).toBe(-1);
    expect(firstDifference(candidates, { names: ["a", "c"], profiles, drainings })).toBe(1);
    expect(firstDifference(candidates, { names: ["a", "b"], profiles: [], drainings })).toBe(0);
    expect(firstDifference(candidates, { names: ["a"], profiles, drainings })).toBe(1);
    expect(firstDifference(candidates, { names: ["a", "b"], profiles, drainings: [undefined, "true"] })).toBe(1);
    expect(firstDifference(candidates, { names: ["a", "b", "c"], profiles, drainings })).toBe(2);
  });
});
