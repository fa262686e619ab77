import { describe, expect, it } from "vitest";
import { KnownNodes } from "./known-nodes.ts";
import { createCandidateTables } from "./scan.ts";
import { compareWithJsonParse } from "./testing/compare-with-json-parse.ts";
import { mutate, randomRequest, respell, seededDice } from "./testing/random-requests.ts";

const TOTAL = 10_000_000;
describe("ten million bytes of random bodies", () => {
  it("X-19 are read as by JSON.parse if they are valid JSON, and never fail otherwise", () => {
    const roll = seededDice(7);
    // Half of the bodies are read with KnownNodes and in reused tables, which is a separate code path.
    const known = new KnownNodes(1_000_000);
    const options = { knownNodes: known, tables: createCandidateTables() };
    const ways = { read: 0, refused: 0, invalid: 0 };
    let bytes = 0;
    let bodies = 0;
    while (bytes < TOTAL) {
      const request = randomRequest(roll);
      const asGoWrites = roll(2) === 0;
      const whole = Buffer.from(asGoWrites ? JSON.stringify(request) : respell(request, roll, roll(2) === 0 ? 10 : 0));
      for (const body of [whole, mutate(whole, roll), mutate(whole, roll), mutate(whole, roll), mutate(whole, roll)]) {
        ways[compareWithJsonParse(body, asGoWrites ? options : undefined)]++;
        bytes += body.length;
        bodies++;
      }
    }
    expect(bytes).toBeGreaterThanOrEqual(TOTAL);
    expect(known.bytes).toBeGreaterThan(1000);
    // Each outcome must be frequent: with only valid or only broken documents the test would prove little.
    for (const times of Object.values(ways)) expect(times).toBeGreaterThan(bodies / 300);
    process.stdout.write(`fuzz: ${bytes} bytes in ${bodies} bodies: ${JSON.stringify(ways)}\n`);
  });
});
