// ALLOW_INSECURE_TOKEN as each program's own process reads it.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "joulie-token-"));
afterAll(() => rmSync(folder, { recursive: true }));
const kubeconfig = join(folder, "config");
// An address reserved for documentation: no server answers.
writeFileSync(
  kubeconfig,
  JSON.stringify({
    "current-context": "here",
    clusters: [{ name: "c", cluster: { server: "http://192.0.2.1:8080" } }],
    users: [{ name: "u", user: { token: "s3cret" } }],
    contexts: [{ name: "here", context: { cluster: "c", user: "u" } }],
  }),
);

const main = join(import.meta.dirname, "../main.ts");
const SERVING = /"msg":"(?:serving|answering)/;

/** What a program says until it serves or ends. */
async function output(program: string, allow: string): Promise<string> {
  const env = {
    PATH: process.env["PATH"],
    NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
    KUBECONFIG: kubeconfig,
    ALLOW_INSECURE_TOKEN: allow,
    LOG_FORMAT: "json",
    NODE_NAME: "a",
    STATE_DIR: join(folder, "state"),
    METRICS_ADDR: "127.0.0.1:0",
    EXTENDER_ADDR: "127.0.0.1:0",
    SIMULATOR_ADDR: "127.0.0.1:0",
  };
  const child = spawn(process.execPath, [main, program], { env, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  // A program that cannot start says why on standard error.
  child.stderr.setEncoding("utf8").on("data", (piece: string) => (text += piece));
  for await (const piece of child.stdout.setEncoding("utf8") as AsyncIterable<string>) {
    text += piece;
    if (SERVING.test(text)) child.kill("SIGKILL");
  }
  return text;
}

describe.each(["operator", "agent", "extender", "power", "fleet"])("%s", (program) => {
  it("sends a kubeconfig's token over http:// only where ALLOW_INSECURE_TOKEN says so", async () => {
    const [refused, allowed] = await Promise.all([output(program, "false"), output(program, "true")]);
    expect(refused).toContain("use https, or set ALLOW_INSECURE_TOKEN to true");
    expect(refused).not.toMatch(SERVING);
    expect(allowed).toMatch(SERVING);
    expect(refused + allowed).not.toContain("s3cret");
  });
});
