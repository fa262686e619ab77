// npm run bench -- NAME [--json] [--repeats N]: runs bench/NAME.ts and prints its table.
import { readdirSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Scenario } from "../bench/scenario.ts";
import { renderReport, summarise } from "./benchmark.ts";
import { ProgressReporter } from "./progress.ts";

const folder = join(import.meta.dirname, "../bench");
const names = readdirSync(folder)
  .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && file !== "scenario.ts" && !file.includes("-"))
  .map((file) => file.slice(0, -3));

const usage = `usage: npm run bench -- NAME [--json] [--repeats N]; NAME is one of ${names.join(", ")}`;
const { values, positionals } = readArguments();
const name = positionals[0] ?? "";
const repeatsAsked = Number(values.repeats ?? "NaN");
if (positionals.length !== 1 || !names.includes(name)) {
  console.error(`joulie: ${usage}`);
  process.exit(2);
}
if (values.repeats !== undefined && !(Number.isInteger(repeatsAsked) && repeatsAsked >= 1 && repeatsAsked <= 1000)) {
  console.error(`joulie: --repeats ${values.repeats} is not a whole number from 1 to 1000`);
  process.exit(2);
}

const { scenario } = (await import(join(folder, `${name}.ts`))) as { scenario: Scenario };
const repeats = values.repeats === undefined ? scenario.repeats : repeatsAsked;
const samples = [];
const progress = new ProgressReporter(`bench ${name}`);
try {
  for (let repeat = 1; repeat <= repeats; repeat++) {
    const where = `repeat ${repeat} of ${repeats}`;
    progress.step(where);
    samples.push(await scenario.measure((step) => progress.step(`${where}, ${step}`)));
  }
} finally {
  await scenario.close?.();
  progress.stop();
}

const report = summarise(name, scenario, samples, {
  cpu: cpus()[0]?.model.trim() ?? "unknown",
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  node: process.version,
});
console.log(renderReport(scenario.about, report));
if (scenario.document !== undefined) console.log(`\n${scenario.document(new Map(Object.entries(report.figures)))}`);
if (values.json) console.log(JSON.stringify(report));

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: { json: { type: "boolean", default: false }, repeats: { type: "string" } },
    });
  } catch (error) {
    console.error(`joulie: ${error instanceof Error ? error.message : String(error)}; ${usage}`);
    return process.exit(2);
  }
}
