import { defineConfig } from "vitest/config";

// Tests of the dashboard in a browser: one file at a time, because a browser takes a core.
export default defineConfig({
  test: {
    pool: "forks",
    maxWorkers: 1,
    fileParallelism: false,
    include: ["test/browser/**/*.test.ts"],
    globalSetup: ["test/browser/global-setup.ts"],
    // A timeout ends a test that hangs. It is no measure of speed, so it leaves room for a busy machine.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 180_000 } },
  },
});
