import { defineConfig } from "vitest/config";
import { longFilesFirst } from "./scripts/long-files-first.ts";

/** They take 10 to 40 seconds each, and most of them wait. */
const longFiles = [
  "leaks/virtual-days",
  "pool/pool-loop",
  "agent/hung-driver",
  "wiring/extender",
  "wiring/demo",
  "dashboard/dashboard",
  "power/sushy",
  "power/sushy-wake",
  "wiring/agent",
  "server/attack",
  "wiring/fleet",
  "wiring/dashboard",
  "cli/cli",
  "routing/http-routes",
  "wiring/agent-probe",
  "agent/kill",
  "wiring/operator",
  "queue/sleep-arms",
];

export default defineConfig({
  test: {
    // One module graph per worker: our tests share no mutable module state, and start-up is most of a small test's time.
    isolate: false,
    include: ["{src,test,scripts,bench}/**/*.test.ts"],
    exclude: ["**/node_modules/**", "test/browser/**", "test/cluster/**", "test/realnode/**"],
    // Vitest would start one on a machine with two cores. Many tests wait for processes and sockets.
    maxWorkers: 4,
    sequence: { sequencer: longFilesFirst(longFiles) },
    // A timeout ends a test that hangs. It is no measure of speed, so it leaves room for a busy machine.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 180_000 } },
    coverage: {
      provider: "v8",
      include: ["src/core/**/*.ts"],
      exclude: ["**/*.test.ts", "**/testing/**"],
      reporter: ["text-summary"],
      thresholds: { statements: 97 },
    },
  },
});
