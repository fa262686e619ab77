import { defineConfig } from "vitest/config";

// Mutation runs the tests of core alone, again and again; everything else would only cost time.
export default defineConfig({
  test: { isolate: false, include: ["src/core/**/*.test.ts"], testTimeout: 20_000 },
});
