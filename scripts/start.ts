// npm start [-- FLAG…]: runs the demo from source.
process.argv.splice(2, 0, "demo");
await import("../src/main.ts");
