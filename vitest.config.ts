import { configDefaults, defineConfig } from "vitest/config";

/**
 * Stages beside `npm test`: groups that take long and that few changes affect. Each one has a script `test:NAME` in
 * package.json, which .ci/run finds there. A new stage is an entry here and its script; test/stages.test.ts compares them.
 */
export const stages: Readonly<Record<string, readonly string[]>> = {
  /** Daemons and stores killed at chosen and at random moments. */
  crash: ["test/end-to-end/crash.test.ts", "test/end-to-end/soak.test.ts", "test/history/crash.test.ts"],
  /** The simulator against the exchange's official client. */
  sdk: ["test/contract-suite/**/*.test.ts", "test/ledger/sdk.test.ts"],
  /** Installations in empty folders, and copies of the sources that are compiled. */
  launcher: ["test/launch.test.ts", "test/contract/new-endpoint.test.ts"],
};

/**
 * Files that need a process of their own. All others of `npm test` share one process a worker, which loads the sources
 * once: they leave no changed environment, working folder or timer behind.
 */
export const isolated: readonly string[] = [
  "test/{channels,collect,dashboard,deliver,end-to-end,exchange,history,ledger,simulator}/**/*.test.ts",
  "test/*.test.ts",
];

const everything = "test/**/*.test.ts";
const staged = Object.values(stages).flat();

export default defineConfig({
  test: {
    // Real processes, sockets and databases share two cores: files side by side, but not more than two.
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 60_000,
    // Commands that tests run in this process print times in this zone.
    env: { TZ: "UTC" },
    // A run that finds nothing, or only part of itself, is no run.
    passWithNoTests: false,
    allowOnly: false,
    projects: [
      project("shared", [everything], [...isolated, ...staged], false),
      project("isolated", isolated, staged),
      ...Object.entries(stages).map(([name, files]) => project(name, files)),
    ],
  },
});

function project(name: string, include: readonly string[], exclude: readonly string[] = [], isolate = true) {
  return {
    extends: true as const,
    test: { name, include: [...include], exclude: [...configDefaults.exclude, ...exclude], isolate },
  };
}
