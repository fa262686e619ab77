import { basename } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** They take one to three minutes each. */
const longFiles = [
  "operator-outages.test.ts",
  "demo.test.ts",
  "sleep-faults.test.ts",
  "agent.test.ts",
  "operator-faults.test.ts",
  "console.test.ts",
  "sleep-day.test.ts",
  "chart.test.ts",
  "sleep-order.test.ts",
];

/** Starts long files first, so that none of them runs alone at the end. */
class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification): number => {
      const place = longFiles.indexOf(basename(moduleId));
      return place < 0 ? longFiles.length : place;
    };
    return files.toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

// Tests on a real Kubernetes control plane: two files at a time, each with a control plane of its own. The
// tests on a real node run beside them.
export default defineConfig({
  test: {
    // Processes, not threads: the programs of a control plane end with the thread that started them.
    pool: "forks",
    maxWorkers: 2,
    sequence: { sequencer: LongFilesFirst },
    include: ["test/cluster/**/*.test.ts"],
    globalSetup: ["test/cluster/global-setup.ts"],
    // A timeout ends a test that hangs. It is no measure of speed, so it leaves room for a busy machine.
    testTimeout: 240_000,
    hookTimeout: 180_000,
    teardownTimeout: 60_000,
  },
});
