import { defineConfig } from "vitest/config";

// Tests on a real Kubernetes control plane: three files at a time, each with a control plane of its own. They mostly wait.
export default defineConfig({
  test: {
    // Processes, not threads: the programs of a control plane end with the thread that started them.
    pool: "forks",
    maxWorkers: 3,
    include: ["test/cluster/**/*.test.ts"],
    globalSetup: ["test/cluster/global-setup.ts"],
    testTimeout: 120_000,
    hookTimeout: 180_000,
    teardownTimeout: 60_000,
  },
});
