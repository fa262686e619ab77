// Run before each test file while `npm run mutation -- wiring` runs: says which mutant is alive in this process.
import { readFileSync } from "node:fs";

const text = readFileSync(process.env["JOULIE_MUTANT"] ?? "/dev/null", "utf8");
(globalThis as { joulieMutant?: number | undefined }).joulieMutant =
  text === "" ? undefined : (JSON.parse(text) as { id: number }).id;
