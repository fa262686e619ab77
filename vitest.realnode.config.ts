import { defineConfig } from "vitest/config";

// Tests on a real kubelet and containerd: one file at a time, because a machine has one tree of pod cgroups.
export default defineConfig({
  test: {
    pool: "forks",
    maxWorkers: 1,
    fileParallelism: false,
    include: ["test/realnode/**/*.test.ts"],
    globalSetup: ["test/realnode/global-setup.ts"],
    // A timeout ends a test that hangs. It is no measure of speed, so it leaves room for a busy machine.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    teardownTimeout: 60_000,
    expect: { poll: { timeout: 180_000 } },
  },
});
