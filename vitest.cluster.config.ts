import { defineConfig } from "vitest/config";
import { longFilesFirst } from "./scripts/long-files-first.ts";

/** They take 20 seconds to two minutes each. */
const longFiles = [
  "cluster/operator-outages",
  "cluster/demo",
  "cluster/sleep-faults",
  "cluster/operator-faults",
  "cluster/console",
  "cluster/agent",
  "cluster/sleep-day",
  "cluster/chart",
  "cluster/sleep-order",
  "cluster/operator",
  "cluster/rights",
  "cluster/sleep-kills",
  "cluster/reflector",
  "cluster/extender",
  "cluster/energy-scoring",
];

// Tests on a real Kubernetes control plane: three files at a time, each with a control plane of its own. They mostly wait. The tests
// on a real node run beside them.
export default defineConfig({
  test: {
    // Processes, not threads: the programs of a control plane end with the thread that started them.
    pool: "forks",
    maxWorkers: 3,
    sequence: { sequencer: longFilesFirst(longFiles) },
    include: ["test/cluster/**/*.test.ts"],
    globalSetup: ["test/cluster/global-setup.ts"],
    // A timeout ends a test that hangs. It is no measure of speed, so it leaves room for a busy machine.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    teardownTimeout: 60_000,
    expect: { poll: { timeout: 180_000 } },
  },
});
