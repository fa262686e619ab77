import { defineConfig } from "vitest/config";

// Tests of the dashboard in a browser: one file at a time, because a browser takes a core.
export default defineConfig({
  test: {
    pool: "forks",
    maxWorkers: 1,
    fileParallelism: false,
    include: ["test/browser/**/*.test.ts"],
    globalSetup: ["test/browser/global-setup.ts"],
    testTimeout: 60_000,
    hookTimeout: 90_000,
  },
});
