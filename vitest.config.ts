import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // One module graph per worker: our tests share no mutable module state, and start-up is most of a small test's time.
    isolate: false,
    include: ["{src,test,scripts,bench}/**/*.test.ts"],
    exclude: ["**/node_modules/**", "test/browser/**", "test/cluster/**", "test/realnode/**"],
    // Vitest would start one on a machine with two cores. Many tests wait for processes and sockets.
    maxWorkers: 3,
    // A timeout ends a test that hangs. It is no measure of speed, so it leaves room for a busy machine.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    coverage: {
      provider: "v8",
      include: ["src/core/**/*.ts"],
      exclude: ["**/*.test.ts", "**/testing/**"],
      reporter: ["text-summary"],
      thresholds: { statements: 97 },
    },
  },
});
