// npm start [-- FLAG…]: runs the demo from source.
import { buildWebIfOld } from "./web.ts";

await buildWebIfOld();
process.argv.splice(2, 0, "demo");
await import("../src/main.ts");
