import { defineConfig } from "vitest/config";

// Tests on a real kubelet and containerd: one file at a time, because a machine has one tree of pod cgroups.
export default defineConfig({
  test: {
    pool: "forks",
    maxWorkers: 1,
    fileParallelism: false,
    include: ["test/realnode/**/*.test.ts"],
    globalSetup: ["test/realnode/global-setup.ts"],
    testTimeout: 180_000,
    hookTimeout: 300_000,
    teardownTimeout: 60_000,
  },
});
