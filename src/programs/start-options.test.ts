import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { startCommand, startOptions } from "./start-options.ts";

const guide = (name: string) => readFileSync(join(import.meta.dirname, `../../docs/guides/${name}.md`), "utf8");

describe("start options", () => {
  // V8 only prints a warning for an unknown flag and continues.
  it.each(Object.entries(startOptions))("this Node accepts those of %s without a warning", async (_, { node }) => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [...node, "-p", "'started'"]);
    expect([stdout.trim(), stderr]).toEqual(["started", ""]);
  });

  it("the guides show the measured start commands", () => {
    expect(guide("operator")).toContain(`\n${startCommand("operator", startOptions.operator)}\n`);
    expect(guide("agent")).toContain(`\n${startCommand("agent", startOptions.agent)}\n`);
    expect(guide("agent")).toContain(startCommand("agent", startOptions.agentPool));
    expect(guide("scheduler")).toContain(`\n${startCommand("extender", startOptions.extender)}\n`);
  });

  it("--expose-gc frees the chunks of request bodies", async () => {
    const script = `
      const held = () => process.memoryUsage().arrayBuffers / 65536;
      for (let i = 0; i < 64; i++) Buffer.allocUnsafeSlow(65536);
      const highest = held();
      gc({ type: "minor", execution: "sync" });
      // V8 returns the memory on a thread of its own.
      const look = () => (highest - held() > 32 ? console.log("freed") : setImmediate(look));
      look();`;
    // Else the process would look forever.
    const bound = { timeout: 180_000 };
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [...startOptions.extender.node, "-e", script],
      bound,
    );
    expect(stdout.trim()).toBe("freed");
  });
});
