/** The table of the cost of ingest. */
import { table } from "../daemon/tables.ts";
import type { CostResult } from "./cost.ts";
import type { FleetResult } from "./fleet.ts";

const whole = (value: number): string => Math.round(value).toLocaleString("en-US");
const tenths = (value: number): string => value.toFixed(1);

export function costTable(result: CostResult): string {
  const { daemonUs, bareUs, handUs, ratio, bestRatio, handRatio, stages } = result;
  const sides = table(
    `Ingest, bytes to commit: ${whole(result.bytes)} bytes, ${result.series} series, 20 rules, ${whole(result.wallets)} wallets`,
    ["", "µs of processor time an answer", "median", "best rounds"],
    [
      ["daemon", tenths(daemonUs), "", ""],
      ["by hand: the same figures, windows and conditions, nothing else", tenths(handUs), "", ""],
      ["bare loop", tenths(bareUs), "", ""],
      ["bare loop / daemon", "", ratio.toFixed(2), bestRatio.toFixed(2)],
      ["bare loop / by hand", "", handRatio.toFixed(2), ""],
      ["by hand / daemon", "", (handUs / daemonUs).toFixed(2), ""],
    ],
  );
  const known = Object.values(stages).reduce((sum, one) => sum + one, 0);
  const where = table(
    "Where it goes",
    ["stage", "µs an answer"],
    [
      ...Object.entries(stages).map(([stage, each]) => [stage, tenths(each)]),
      ["queue, collector and the rest", tenths(daemonUs - known)],
    ],
  );
  const marks = `A change of all marks costs ${tenths(result.marksUsPerAccount)} µs for each account.`;
  return `${sides}\n\n${where}\n${marks}`;
}

export function fleetTable(results: readonly FleetResult[]): string {
  const costs = table(
    "Wallets at 5 s, marks at 2 s, 20 rules (2 over 24 h, 4 over 1 h, filled), no network",
    [
      "wallets",
      "series",
      "of one core",
      "of it garbage",
      "µs an answer",
      "µs for its marks",
      "memory",
      "of it empty",
    ],
    results.map((one) => [
      whole(one.wallets),
      whole(one.series),
      `${tenths(one.cpu * 100)} %`,
      `${tenths(one.gcCpu * 100)} %`,
      tenths(one.statesUs),
      tenths(one.marksUsPerAccount),
      `${whole(one.rssMiB)} MiB`,
      `${whole(one.idleMiB)} MiB`,
    ]),
  );
  const memory = table(
    "What that memory is spent on, MiB",
    [
      "wallets",
      "program",
      "wallets, facts, rules",
      "windows",
      "later answers",
      "garbage",
      "outside of the heap",
    ],
    results.map(({ wallets, spent }) => [
      whole(wallets),
      ...[spent.program, spent.wallets, spent.windows, spent.later, spent.garbage, spent.outsideHeap].map(
        whole,
      ),
    ]),
  );
  const last = results.at(-1)!;
  const perWallet = ((last.spent.wallets + last.spent.windows + last.spent.later) * 1_024) / last.wallets;
  const floor = `A wallet takes ${tenths(perWallet)} KiB of the heap, of them ${tenths((last.spent.windows * 1_024) / last.wallets)} in windows.`;
  return `${costs}

${memory}
${floor}`;
}
