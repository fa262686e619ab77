// npm start [-- FLAG…]: the demo, straight from the sources.
process.argv.splice(2, 0, "demo");
await import("../src/main.ts");
