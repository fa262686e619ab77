import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // One module graph per worker: our tests share no mutable module state, and start-up is most of a small test's time.
    isolate: false,
    include: ["{src,test,scripts,bench}/**/*.test.ts"],
    exclude: ["**/node_modules/**", "test/cluster/**"],
    testTimeout: 20_000,
    coverage: {
      provider: "v8",
      include: ["src/core/**/*.ts"],
      exclude: ["**/*.test.ts"],
      reporter: ["text-summary"],
      thresholds: { statements: 97 },
    },
  },
});
