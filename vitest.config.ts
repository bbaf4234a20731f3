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
  /** Scenarios of ten simulated minutes with faults, judged by an oracle, and that oracle on logs that were tampered with. */
  truth: [
    "test/truth/stage-*.test.ts",
    "test/truth/oracle*.test.ts",
    "test/truth/truth.test.ts",
    "test/truth/regressions.test.ts",
  ],
  /** Such scenarios twice each: equal seeds give equal hashes. */
  repeat: ["test/truth/repeat-*.test.ts"],
  /** Attacks on processes that run. */
  attacks: ["test/attacks/**/*.test.ts"],
  /** The units of deploy/, judged by systemd-analyze, and the daemon in their sandbox. Needs Debian's systemd, bubblewrap and seccomp. */
  sandbox: ["test/sandbox/**/*.test.ts"],
  /** Installations in empty folders, the packed package, and copies of the sources that are compiled. */
  launcher: ["test/launch.test.ts", "test/contract/new-endpoint.test.ts", "test/exports/**/*.test.ts"],
};

/** All files of a worker share its process, which loads the sources, and plays a scenario that several look at, once. */
const shared = { isolate: false, restoreMocks: true };
/** Scenarios have a clock of their own, and take what the machine leaves them. */
const patience = { testTimeout: 600_000, hookTimeout: 600_000 };

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
      {
        extends: true,
        test: {
          name: "main",
          include: ["test/**/*.test.ts"],
          exclude: [...configDefaults.exclude, ...Object.values(stages).flat()],
          ...shared,
        },
      },
      ...Object.entries(stages).map(([name, include]) => ({
        extends: true as const,
        test: {
          name,
          include: [...include],
          ...(name === "truth" ? shared : {}),
          ...(name === "truth" || name === "repeat" ? patience : {}),
        },
      })),
    ],
  },
});
