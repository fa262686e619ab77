import { describe, expect, it } from "vitest";
import { agree } from "./agree.ts";
import { KnownNodes } from "./known-nodes.ts";
import { NameIndex } from "./name-index.ts";
import { rowsOfRequests } from "./scan.ts";
import { dice, mutated, randomRequest, spelled } from "./test-documents.ts";

const TOTAL = 10_000_000;
/** Names that no Kubernetes takes, and a request may hold all the same. */
const odd = ["a", "größe", "日本", "🙂", 'say "hi"', "back\\slash", "{[}]", "\u0000", "é/ü", 'a","a'];

describe("ten million bytes of bodies", () => {
  it("X-19 are read as JSON.parse reads them, or refused where it refuses", () => {
    const roll = dice(7);
    // Nodes and names that were seen before take another way: half of the bodies are read with them, in memory used before.
    const known = new KnownNodes(1_000_000);
    const aids = { known, index: new NameIndex(), room: rowsOfRequests() };
    const ways = { read: 0, refused: 0, surprise: 0 };
    let bytes = 0;
    let bodies = 0;
    while (bytes < TOTAL) {
      const request = randomRequest(roll);
      const asGoWrites = roll(2) === 0;
      // Nodes come and go.
      const slot = roll(60);
      const name = odd[slot - 50] ?? `worker-${slot}`;
      if (roll(4) === 0) aids.index.delete(name);
      else aids.index.set(name, slot);
      const whole = Buffer.from(asGoWrites ? JSON.stringify(request) : spelled(request, roll, roll(2) === 0 ? 10 : 0));
      for (const body of [
        whole,
        mutated(whole, roll),
        mutated(whole, roll),
        mutated(whole, roll),
        mutated(whole, roll),
      ]) {
        ways[agree(body, asGoWrites ? aids : undefined)]++;
        bytes += body.length;
        bodies++;
      }
    }
    expect(bytes).toBeGreaterThanOrEqual(TOTAL);
    expect(known.bytes).toBeGreaterThan(1000);
    // Each way was taken often: a generator whose documents are all broken, or all whole, would prove little.
    for (const times of Object.values(ways)) expect(times).toBeGreaterThan(bodies / 100);
    process.stdout.write(`fuzz: ${bytes} bytes in ${bodies} bodies: ${JSON.stringify(ways)}\n`);
  });
});
