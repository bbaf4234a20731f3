import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Real processes, sockets and databases share two cores: files side by side, but not more than two.
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 60_000,
    // A run that finds nothing, or only part of itself, is no run.
    passWithNoTests: false,
    allowOnly: false,
    // In CI the counts are read from a file as well; .ci/run turns it into the closing line.
    ...(process.env.CI
      ? { reporters: ["default", "json"], outputFile: { json: ".runtime/test-report.json" } }
      : {}),
  },
});
