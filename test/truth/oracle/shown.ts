/** Figures that the daemon shows at any time, as `perpwatch status` and the page read them, against what it was told by then. */
import type { AccountStatus, WalletStatus } from "../../../src/domain/status.ts";
import type { AccountFigures, PositionFigures } from "./margin.ts";
import type { View } from "./view.ts";

/** Sums in doubles, of amounts that the exchange rounds. */
const centUsd = 0.01;
const tiny = 1e-6;

type Figures = Readonly<Record<string, number | null>>;

/** Figures that are not true. */
export function problemsOf(view: View, { name, figures, accounts }: WalletStatus): readonly string[] {
  const now = view.money.now(name);
  const room = view.money.room(name);
  return [
    ...wrong(name, figures, { equity: now?.equity }),
    ...accounts.flatMap((one) => accountProblems(view, one)),
    ...(now?.stated ? wrong(name, figures, { pnl: now.profit }, room) : []),
    ...(now?.stated ? wrong(name, figures, { pnlToday: view.money.profitToday(name) }, room) : []),
  ];
}

function accountProblems(view: View, { name, figures, positions }: AccountStatus): readonly string[] {
  const truth = view.account(name);
  if (!truth) return [];
  return [
    ...wrong(name, figures, ofAccount(truth)),
    ...positions.flatMap((one) => {
      const held = view.position(one.name);
      return held ? wrong(one.name, one.figures, ofPosition(held.figures)) : [`${one.name} is not held`];
    }),
  ];
}

const ofAccount = (one: AccountFigures) => ({
  equity: one.equity,
  effectiveCollateral: one.effective,
  maintenanceMargin: one.maintenance,
  unrealizedPnl: one.unrealized,
  grossNotional: one.gross,
});

const ofPosition = (one: PositionFigures) => ({
  markPrice: one.mark,
  notional: one.notional,
  unrealizedPnl: one.unrealized,
  liquidationDistance: one.distance,
});

/** Those that are shown and known, and differ. */
function wrong(
  name: string,
  figures: Figures,
  truths: Readonly<Record<string, number | undefined>>,
  room = 0,
): readonly string[] {
  return Object.entries(truths).flatMap(([figure, truth]) => {
    const shown = figures[figure];
    if (typeof shown !== "number" || truth === undefined || shown === truth) return [];
    const mostUsd = Math.abs(truth) * tiny + (figure === "liquidationDistance" ? tiny : centUsd + room);
    return Math.abs(shown - truth) <= mostUsd ? [] : [`${figure} of ${name} is ${shown}, not ${truth}`];
  });
}
