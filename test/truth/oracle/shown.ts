/**
 * Accounts, positions and figures that the daemon shows at any time, as `perpwatch status` and the page read them, against what it was told
 * by then.
 */
import type { AccountStatus, PositionStatus, WalletStatus } from "../../../src/domain/status.ts";
import type { AccountFigures, PositionFigures } from "./margin.ts";
import { moveRoom } from "./rules/liquidation.ts";
import { stopFigures } from "./rules/stop-loss.ts";
import { accountOf, symbolOf, type View, walletOf } from "./view.ts";
import type { Share } from "./wallets.ts";

/** Sums in doubles, of amounts that the exchange rounds. */
const centUsd = 0.01;
const tiny = 1e-6;
const shareRoom = 1e-5;
/** A joint move is looked for up to 10 times the mark. */
const farMove = 9.9;
/** Figures that are no amounts of money. */
const shares: ReadonlySet<string> = new Set([
  ...["liquidationDistance", "marginRatio", "leverage", "size", "stopLossDistance", "stopLossRoom"],
]);
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
    ...(isClear(quietMs) ? unlike(view, name, accounts) : []),
    ...accounts.flatMap((one) => accountProblems(view, one, isClear(quietMs))),
    ...(now?.stated ? wrong(name, figures, { pnl: now.profit }, room) : []),
    ...(now?.stated && now.sure ? outside(name, figures, "lossToday", view.money.lossToday(name)) : []),
    ...(now?.stated ? wrong(name, figures, { pnlToday: view.money.profitToday(name) }, room) : []),
  ];
}

/** Accounts and positions that are not shown, and those that are and were not read. */
function unlike(view: View, wallet: string, accounts: readonly AccountStatus[]): readonly string[] {
  const known = [...view.seen.accounts.values()].filter(({ name }) => walletOf(name) === wallet);
  const read = new Set(
    known.flatMap(({ name, positions }) => [name, ...positions.map(({ symbol }) => `${name}/${symbol}`)]),
  );
  const shown = new Set(
    accounts.flatMap(({ name, positions }) => [name, ...positions.map((one) => one.name)]),
  );
  // An account that was never opened is listed empty.
  const isThere = (name: string): boolean => symbolOf(name) !== "" || view.seen.accounts.has(accountOf(name));
  return [
    ...[...read].flatMap((name) => (shown.has(name) ? [] : [`${name} is not shown`])),
    ...[...shown].flatMap((name) => (read.has(name) || !isThere(name) ? [] : [`${name} was not read`])),
  ];
}

/** @param isKnown all of its figures have to be shown */
function accountProblems(
  view: View,
  { name, seenMs, riskTier, figures, positions }: AccountStatus,
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
    ...((riskTier === null ? isKnown : riskTier !== truth.tier)
      ? [`riskTier of ${name} is ${riskTier}, not ${truth.tier}`]
      : []),
    ...moveProblems(name, figures, truth),
    ...(isKnown ? missing(name, figures, ofAccount(truth)) : []),
    ...positions.flatMap((one) => {
      const held = view.position(one.name);
      if (!held) return [`${one.name} is not held`];
      const truths = { ...ofPosition(held.figures), ...stopFigures(held, view) };
      return [
        ...wrong(one.name, one.figures, truths),
        ...(one.side === held.figures.side ? [] : [`${one.name} is shown ${one.side}`]),
        ...liquidationProblems(one, held.figures, isKnown),
        ...(isKnown ? missing(one.name, one.figures, truths) : []),
      ];
    }),
  ];
}

/** A joint move is found to some share, and there may be none. */
function moveProblems(name: string, figures: Figures, truth: AccountFigures): readonly string[] {
  const shown = figures.adverseMoveToLiquidation;
  const adverse = truth.positions.size === 0 ? Number.POSITIVE_INFINITY : truth.adverse;
  if (typeof shown !== "number" || Math.min(shown, adverse) > farMove) return [];
  // Beyond the mark itself amounts are rounded that grow with the move.
  return Math.abs(shown - adverse) <= moveRoom * (adverse > 1 ? 2 * adverse : 1)
    ? []
    : [`adverseMoveToLiquidation of ${name} is ${shown}, not ${adverse}`];
}

/** Null: nothing liquidates it. */
function liquidationProblems(
  { name, figures }: PositionStatus,
  { liquidation }: PositionFigures,
  isKnown: boolean,
): readonly string[] {
  const { liquidationPrice: shown } = figures;
  if (shown === undefined) return isKnown ? [`liquidationPrice of ${name} is not shown`] : [];
  const isNone = liquidation === null || liquidation === 0;
  if (shown !== null && !isNone) return wrong(name, figures, { liquidationPrice: liquidation });
  return isNone === (shown === null) ? [] : [`liquidationPrice of ${name} is ${shown}, not ${liquidation}`];
}

const ofAccount = (one: AccountFigures) => ({
  equity: one.equity,
  effectiveCollateral: one.effective,
  maintenanceMargin: one.maintenance,
  unrealizedPnl: one.unrealized,
  grossNotional: one.gross,
  netNotional: one.net,
  freeCollateral: one.free,
  initialMargin: one.initial,
  cancelMargin: one.cancel,
  marginRatio: one.ratio,
  leverage: one.gross === 0 ? 0 : one.effective > 0 ? one.gross / one.effective : Number.POSITIVE_INFINITY,
});

const ofPosition = (one: PositionFigures) => ({
  markPrice: one.mark,
  notional: one.notional,
  unrealizedPnl: one.unrealized,
  liquidationDistance: one.distance,
  entryPrice: one.entry,
  size: one.size,
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
    const mostUsd = Math.abs(truth) * tiny + (shares.has(figure) ? tiny : centUsd + room);
    return Math.abs(shown - truth) <= mostUsd ? [] : [`${figure} of ${name} is ${shown}, not ${truth}`];
  });
}
