/** Tables of wallets, accounts and positions. */
import { formatDurationMs } from "../../../domain/text/duration.ts";
import { plainWords } from "../../../domain/text/plain-words.ts";
import { type Paint, shortAddress } from "../../terminal/print.ts";
import { table } from "../../terminal/table.ts";
import { ageCell, ageOf, type Figures, numberOf, type Show, type Status } from "./answer.ts";

export function walletTable(status: Status, paint: Paint, show: Show): string {
  const rows = status.watch.wallets.map((wallet) => [
    wallet.name,
    shortAddress(wallet.authority),
    wallet.watchOnly ? "watch-only" : sessionText(status, wallet, paint),
    ageCell(ageOf(status, ["traderState"], wallet.name)(numberOf(wallet.seenMs)), paint),
    show(wallet.figures.equity, "usd"),
    show(wallet.figures.pnl, "usd"),
    show(wallet.unacked, "count"),
  ]);
  const right = (title: string) => ({ title, right: true });
  return table(
    [
      "name",
      "authority",
      "session",
      right("data age"),
      right("equity"),
      right("pnl since watched"),
      right("unacked"),
    ],
    rows,
    paint,
  );
}

/** Profit is what deposits and withdrawals do not explain, so it waits until they are read. */
export function whyNoPnl({ watch, schedules }: Status, paint: Paint): string {
  const waiting = watch.wallets.filter(
    ({ figures }) => numberOf(figures.equity) !== null && numberOf(figures.pnl) === null,
  );
  const every = schedules.find(({ source }) => source === "collateral")?.everyMs;
  const often = every === undefined ? "" : `, every ${formatDurationMs(Number(every))}`;
  const reasons = new Map<string, string[]>();
  for (const { name, unexplained } of waiting) {
    const own = schedules.find(({ source, wallet }) => source === "collateral" && wallet === name);
    const fails =
      Number(own?.failuresInRow ?? 0) > 0 && own?.lastFailure ? `, fails: ${own.lastFailure.detail}` : "";
    const schedule = every === undefined ? "" : ` (schedule collateral${often}${fails})`;
    const why =
      typeof unexplained === "string"
        ? `not known while a change of collateral is unexplained: ${unexplained}${schedule}`
        : `known after the first reading of flows, deposits and withdrawals${schedule}`;
    reasons.set(why, [...(reasons.get(why) ?? []), name]);
  }
  return [...reasons]
    .map(([why, names]) => `\n${paint("gray", `pnl of ${names.join(", ")}: ${why}`)}`)
    .join("");
}

/** A session that the exchange takes, and that may not read its inbox, is not well. */
function sessionText(status: Status, wallet: Status["watch"]["wallets"][number], paint: Paint): string {
  const { signedIn, sessionDetail, name } = wallet;
  const text = sessionDetail === "" ? (signedIn ? "signed in" : "signed out") : sessionDetail;
  const inbox = status.schedules.find((one) => one.source === "notifications" && one.wallet === name);
  const refused = inbox?.lastFailure?.reason === "refused" && Number(inbox.failuresInRow) > 0;
  if (!signedIn || !refused) return paint(signedIn ? "green" : "red", text);
  const why = inbox.lastFailure.detail.replace(/^\w+: /, "");
  return paint("red", `${text}, but its notifications are refused: ${why}`);
}

export function accountTable(status: Status, paint: Paint, show: Show): string {
  const right = (title: string) => ({ title, right: true });
  const rows = status.watch.wallets.flatMap(({ name: wallet, accounts }) => {
    const age = ageOf(status, ["traderState", "markets"], wallet);
    return accounts.map(({ name, state, riskTier, figures, orders, seenMs }) => {
      const ratio = numberOf(figures.marginRatio) ?? 0;
      const tint = ratio >= 0.8 ? "red" : ratio >= 0.5 ? "yellow" : null;
      const shown = show(figures.marginRatio, "ratio");
      return [
        name,
        state === null ? "–" : plainWords(state),
        riskTier === null ? "–" : plainWords(riskTier),
        show(figures.effectiveCollateral, "usd"),
        show(figures.maintenanceMargin, "usd"),
        tint === null ? shown : paint(tint, shown),
        show(figures.leverage, "times"),
        String(orders),
        ageCell(age(numberOf(seenMs)), paint),
      ];
    });
  });
  if (rows.length === 0) return paint("gray", "none seen yet");
  return table(
    [
      "account",
      "state",
      "risk tier",
      right("effective collateral"),
      right("maintenance"),
      right("margin ratio"),
      right("leverage"),
      right("orders"),
      right("data age"),
    ],
    rows,
    paint,
  );
}

/** Nearest to liquidation first. */
export function positionTable(status: Status, paint: Paint, show: Show): string | null {
  const right = (title: string) => ({ title, right: true });
  const distanceOf = (figures: Figures) => numberOf(figures.liquidationDistance) ?? Number.POSITIVE_INFINITY;
  const rows = status.watch.wallets
    .flatMap(({ name: wallet, accounts }) =>
      accounts.flatMap(({ positions }) => positions.map((position) => ({ ...position, wallet }))),
    )
    .sort((a, b) => distanceOf(a.figures) - distanceOf(b.figures) || 0)
    .map(({ name, side, figures, seenMs, wallet }) => {
      const distance = distanceOf(figures);
      const noLiquidation = numberOf(figures.liquidationDistance) === Number.POSITIVE_INFINITY;
      const shown = show(figures.liquidationDistance, "ratio");
      const tint = distance < 0.05 ? "red" : distance < 0.15 ? "yellow" : null;
      return [
        name,
        sideOf(side, figures),
        show(figures.size, "units"),
        show(figures.notional, "usd"),
        show(figures.markPrice, "price"),
        noLiquidation ? "none" : show(figures.liquidationPrice, "price"),
        tint === null ? shown : paint(tint, shown),
        stopLossText(figures, paint, show),
        show(figures.unrealizedPnl, "usd"),
        ageCell(ageOf(status, ["traderState", "markets"], wallet)(numberOf(seenMs)), paint),
      ];
    });
  if (rows.length === 0) return null;
  return table(
    [
      "position",
      "side",
      right("size"),
      right("notional"),
      right("mark"),
      right("liquidation"),
      right("distance"),
      right("stop loss"),
      right("unrealized pnl at mark"),
      right("data age"),
    ],
    rows,
    paint,
  );
}

/** `$138.00`, with its share where it closes less than all; a position without one is worth a colour. */
function stopLossText(figures: Figures, paint: Paint, show: Show): string {
  const { stopLossPrice, stopLossCoverage } = figures;
  if (stopLossPrice === null) return paint("yellow", "none");
  const coverage = numberOf(stopLossCoverage);
  const part = coverage !== null && coverage < 0.995 ? ` for ${show(stopLossCoverage, "ratio")}` : "";
  return `${show(stopLossPrice, "price")}${stopLossPrice === undefined ? "" : part}`;
}

function sideOf(side: string, figures: Figures): string {
  const size = numberOf(figures.size);
  if (size !== null && size !== 0) return size > 0 ? "long" : "short";
  return /^(long|short)/.exec(side)?.[0] ?? "–";
}
