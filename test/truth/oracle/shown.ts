/** Figures that the daemon shows at any time, as `perpwatch status` and the page read them, against what it was told by then. */
import type { AccountStatus, WalletStatus } from "../../../src/domain/status.ts";
import type { AccountFigures, PositionFigures } from "./margin.ts";
import type { View } from "./view.ts";
import type { Share } from "./wallets.ts";

/** Sums in doubles, of amounts that the exchange rounds. */
const centUsd = 0.01;
const tiny = 1e-6;
const shareRoom = 1e-5;
/** An answer is taken in pieces, ms. */
const soonMs = 1_000;
/** With no trouble for so long all figures of accounts are known, ms. */
const quietMs = 60_000;
/** Fills and other records that explain a change are read within this, ms. */
const readMs = 30_000;

type Figures = Readonly<Record<string, number | null>>;

/** Figures that are not true. */
export function problemsOf(
  view: View,
  { name, figures, accounts, unexplained }: WalletStatus,
  isClear: (forMs: number) => boolean,
): readonly string[] {
  const now = view.money.now(name);
  const knownForMs = view.money.knownForMs(name, view.nowMs);
  // Where requests are short a history has its turn late.
  const lagMs = view.seen.daemon.figures?.lagMs ?? 0;
  const isKnown = now?.sure === true && knownForMs > readMs + lagMs && isClear(knownForMs);
  const room = view.money.room(name);
  return [
    ...(unexplained !== undefined && isKnown ? [`not explained: ${unexplained}`] : []),
    ...(typeof figures.equity === "number" && view.money.isUnknown(name)
      ? [`equity of ${name} is ${figures.equity}, and that of one of its accounts is not known`]
      : []),
    ...wrong(name, figures, { equity: now?.equity }),
    ...(now && isClear(quietMs) ? missing(name, figures, { equity: now.equity }) : []),
    ...(now?.stated && isKnown ? missing(name, figures, { pnl: now.profit }) : []),
    ...accounts.flatMap((one) => accountProblems(view, one, isClear(quietMs))),
    ...(now?.stated ? wrong(name, figures, { pnl: now.profit }, room) : []),
    ...(now?.stated && now.sure ? outside(name, figures, "lossToday", view.money.lossToday(name)) : []),
    ...(now?.stated ? wrong(name, figures, { pnlToday: view.money.profitToday(name) }, room) : []),
  ];
}

/** @param isKnown all of its figures have to be shown */
function accountProblems(
  view: View,
  { name, seenMs, figures, positions }: AccountStatus,
  isKnown: boolean,
): readonly string[] {
  const truth = view.account(name);
  if (!truth) return [];
  // Figures of an account rest on the marks of all that it holds.
  const markMs = Math.min(...[...truth.positions.keys()].map((symbol) => view.seen.priceMs.get(symbol) ?? 0));
  const isYounger = seenMs !== null && seenMs > markMs + soonMs;
  return [
    ...(isYounger ? [`figures of ${name} are said to be of ${seenMs}, and a mark is of ${markMs}`] : []),
    ...wrong(name, figures, ofAccount(truth)),
    ...(isKnown ? missing(name, figures, ofAccount(truth)) : []),
    ...positions.flatMap((one) => {
      const held = view.position(one.name);
      if (!held) return [`${one.name} is not held`];
      const truths = ofPosition(held.figures);
      return [
        ...wrong(one.name, one.figures, truths),
        ...(isKnown ? missing(one.name, one.figures, truths) : []),
      ];
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

/** A share that lies outside of what it may be. */
function outside(
  name: string,
  figures: Figures,
  figure: string,
  share: Share | undefined,
): readonly string[] {
  const shown = figures[figure];
  if (typeof shown !== "number" || !share) return [];
  return shown >= share.low - shareRoom && shown <= share.high + shareRoom
    ? []
    : [`${figure} of ${name} is ${shown}, not from ${share.low} to ${share.high}`];
}

/** Those that are known and not shown. */
function missing(
  name: string,
  figures: Figures,
  truths: Readonly<Record<string, number>>,
): readonly string[] {
  return Object.entries(truths).flatMap(([figure, truth]) =>
    Number.isFinite(truth) && typeof figures[figure] !== "number"
      ? [`${figure} of ${name} is not shown`]
      : [],
  );
}

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
