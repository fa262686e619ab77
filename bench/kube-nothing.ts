// Memory of an idle Node process, measured like the clients of bench/kube.ts.
import { settledMemory } from "./kube-measurement.ts";

process.stdout.write(`${JSON.stringify({ value: await settledMemory() })}\n`);
