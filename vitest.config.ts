// One project per suite: `npx vitest run --project cluster test/cluster/operator.test.ts` runs one file.
import { defineConfig } from "vitest/config";
import { longFilesFirst } from "./scripts/long-files-first.ts";

/** They take ten seconds to two minutes each, and most of them wait. */
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
  "cluster/operator-outages",
  "cluster/demo",
  "cluster/sleep-faults",
  "cluster/power-bulk",
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

/** A timeout ends a test that hangs. It is no measure of speed, so it leaves room for a busy machine. */
const within = (timeout: number) => ({
  testTimeout: timeout,
  hookTimeout: timeout,
  expect: { poll: { timeout: 180_000 } },
});

const unit = {
  ...within(300_000),
  // One module graph per worker: our tests share no mutable module state, and start-up is most of a small test's time.
  isolate: false,
  // Vitest would start one on a machine with two cores. Many tests wait for processes and sockets.
  maxWorkers: 4,
};

export default defineConfig({
  test: {
    teardownTimeout: 60_000,
    sequence: { sequencer: longFilesFirst(longFiles) },
    coverage: {
      provider: "v8",
      include: ["src/core/**/*.ts"],
      exclude: ["**/*.test.ts", "**/testing/**"],
      reporter: ["text-summary"],
      thresholds: { statements: 97 },
    },
    projects: [
      { test: { name: "core", ...unit, include: ["src/core/**/*.test.ts"] } },
      {
        test: {
          name: "unit",
          ...unit,
          include: ["{src,test,scripts,bench}/**/*.test.ts"],
          exclude: ["**/node_modules/**", "src/core/**", "test/browser/**", "test/cluster/**", "test/realnode/**"],
        },
      },
      {
        test: {
          name: "browser",
          ...within(300_000),
          include: ["test/browser/**/*.test.ts"],
          globalSetup: ["test/browser/global-setup.ts"],
          // One file at a time, because a browser takes a core.
          maxWorkers: 1,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: "cluster",
          ...within(600_000),
          include: ["test/cluster/**/*.test.ts"],
          globalSetup: ["test/cluster/global-setup.ts"],
          // Each file has a control plane of its own. They mostly wait. The tests on a real node run beside them.
          maxWorkers: 3,
        },
      },
      {
        test: {
          name: "node",
          ...within(600_000),
          include: ["test/realnode/**/*.test.ts"],
          globalSetup: ["test/realnode/global-setup.ts"],
          // One file at a time, because a machine has one tree of pod cgroups.
          maxWorkers: 1,
          fileParallelism: false,
        },
      },
    ],
  },
});
