/** The command line in messages works where the process was started. */
import path from "node:path";
import { expect, test } from "vitest";
import { commandLineOf } from "../../src/cli/terminal/command-line.ts";

const npm = { npm_package_name: "perpwatch" };
const cases: [env: Record<string, string>, config: string | null, typed: string][] = [
  [{ PERPWATCH_CALLED: "perpwatch" }, null, "perpwatch alerts ack 1"],
  [{ PERPWATCH_CALLED: "perpwatch" }, "/etc/p.yaml", "perpwatch alerts ack 1 --config /etc/p.yaml"],
  [{ PERPWATCH_CALLED: "perpwatch" }, "p.yaml", `perpwatch alerts ack 1 --config ${path.resolve("p.yaml")}`],
  [{ PERPWATCH_CALLED: "perpwatch" }, "/my home/it's", "perpwatch alerts ack 1 --config '/my home/it'\\''s'"],
  [{ ...npm, npm_lifecycle_event: "start" }, null, "npm run -s perpwatch -- alerts ack 1"],
  [{ ...npm, npm_lifecycle_event: "perpwatch" }, "/c", "npm run -s perpwatch -- alerts ack 1 --config /c"],
  // Another program's script that calls an installed perpwatch.
  [
    { npm_package_name: "desk", npm_lifecycle_event: "start", PERPWATCH_CALLED: "perpwatch" },
    null,
    "perpwatch alerts ack 1",
  ],
  [{}, null, `node ${process.argv[1]} alerts ack 1`],
];

test.each(cases)("%j with %s: %s", (env, config, typed) => {
  expect(commandLineOf({ env }, config)("alerts ack 1")).toBe(typed);
});
