// Scrapes /metrics of bench/extender.ts's extender one time after the other, in a process of its own, until it is ended.
const [port] = process.argv.slice(2);
for (;;) await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
