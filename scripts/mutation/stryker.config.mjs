export default {
  testRunner: "vitest",
  // Each test runs only against the lines it covers; without it 2 cores need hours.
  coverageAnalysis: "perTest",
  mutate: ["src/core/**/*.ts", "!src/core/**/*.test.ts", "!src/core/**/testing/**", "!src/core/**/index.ts"],
  reporters: ["clear-text", "json", "html"],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  jsonReporter: { fileName: "reports/mutation/mutation.json" },
  htmlReporter: { fileName: "reports/mutation/mutation.html" },
  tempDirName: ".stryker-tmp",
  concurrency: 2,
  timeoutMS: 10_000,
  // Type errors never run: Node strips types and so does vitest.
  disableTypeChecks: false,
  vitest: { configFile: "scripts/mutation/vitest.config.ts" },
  thresholds: { high: 90, low: 85, break: 85 },
};
