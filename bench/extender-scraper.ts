// Scrapes /metrics of the extender in a loop, in a separate process, until it is killed.
const [port] = process.argv.slice(2);
for (;;) await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
