/**
 * The same work written by hand for just these accounts and just these 20 rules: margin and liquidation prices, the windows,
 * the conditions as plain comparisons, the ticks packed and inserted. No queue, no recording, no ages of data, no lifecycle,
 * no names. What the daemon costs beyond this is what it is general for; what this costs beyond the bare loop no daemon saves.
 */
import { subaccountState } from "../../../src/collect/translate/trader-state.ts";
import type { SubaccountState } from "../../../src/domain/account.ts";
import type { Observation } from "../../../src/domain/observation.ts";
import type { MarketRisk } from "../../../src/margin/model.ts";
import { Sheet } from "../../../src/margin/sheet.ts";
import {
  ticksFromUsd,
  unitsFromBaseLots,
  usdFromQuoteLots,
  usdFromTicks,
} from "../../../src/margin/units.ts";
import { createWindow, type Window } from "../../../src/rules/index.ts";
import { RiskInput } from "../../../src/state/accounts/account-facts.ts";
import { marketConfig, prices } from "../daemon/judging.ts";

type Snapshot = Parameters<typeof subaccountState>[0];

const hour = 3_600_000;
const minute = 60_000;
const staleAfterMs = 15_000;
const everyMs = 5_000;

const extreme = (fn: "minOver" | "maxOver", windowMs: number): Window =>
  createWindow({ fn, windowMs, staleAfterMs }, "UTC");

/** Writes a position's distance to its liquidation price. */
class PositionHand {
  readonly day = extreme("minOver", 24 * hour);
  readonly hour = extreme("minOver", hour);
}

/** One account and all that is kept of it. */
class AccountHand {
  readonly risk = new RiskInput();
  readonly ratio = extreme("maxOver", hour);
  readonly leverage = extreme("maxOver", 24 * hour);
  readonly equity = createWindow({ fn: "changeRatio", windowMs: hour, staleAfterMs }, "UTC");
  readonly positions = new Map<string, PositionHand>();
  begun = false;

  /** A day of minutes, and of its last hour each sample. */
  past(untilMs: number, ratio: number, leverage: number, equity: number, distance: number): void {
    const feed = (atMs: number): void => {
      this.ratio.push(atMs, ratio);
      this.leverage.push(atMs, leverage);
      this.equity.push(atMs, equity);
      for (const { day, hour: last } of this.positions.values()) {
        day.push(atMs, distance);
        last.push(atMs, distance);
      }
    };
    for (let atMs = untilMs - 24 * hour; atMs < untilMs - hour; atMs += minute) feed(atMs + minute - everyMs);
    for (let atMs = untilMs - hour; atMs < untilMs; atMs += everyMs) feed(atMs);
  }
}

export class ByHand {
  readonly #accounts: readonly AccountHand[];
  readonly #markets = new Map<string, MarketRisk>();
  readonly #marks = new Map<string, number>();
  readonly #sheet = new Sheet();
  readonly #values: Float64Array;

  constructor(accounts: number, series: number, nowMs: number) {
    this.#accounts = Array.from({ length: accounts }, () => new AccountHand());
    this.#values = new Float64Array(series);
    const config = marketConfig(nowMs) as Observation & { readonly kind: "marketConfig" };
    for (const market of config.markets) this.#markets.set(market.symbol, market);
    const stats = prices(0, nowMs) as Observation & { readonly kind: "prices" };
    for (const { symbol, markPriceUsd } of stats.markets)
      this.#marks.set(symbol, ticksFromUsd(markPriceUsd, this.#markets.get(symbol)!));
  }

  /** @returns the account's figures, in the room that the next answer is written to */
  take(index: number, row: Snapshot, atMs: number): Float64Array {
    const account = this.#accounts[index]!;
    const state = subaccountState(row, () => {});
    const sheet = this.#sheet;
    account.risk.take(state);
    if (!sheet.assess(account.risk, this.#markets, this.#marks)) throw new Error("no hard case");
    const values = this.#values;
    const equity = usdFromQuoteLots(sheet.portfolioValueQuoteLots);
    const free = usdFromQuoteLots(sheet.freeCollateralQuoteLots);
    const initial = usdFromQuoteLots(sheet.initialMarginQuoteLots);
    const gross = usdFromQuoteLots(sheet.grossNotionalQuoteLots);
    const { marginRatio, leverage } = sheet;
    const adverse = sheet.adverse();
    let at = 0;
    values[at++] = equity;
    values[at++] = usdFromQuoteLots(state.collateralQuoteLots);
    values[at++] = usdFromQuoteLots(sheet.effectiveCollateralQuoteLots);
    values[at++] = usdFromQuoteLots(sheet.unrealizedQuoteLots);
    values[at++] = initial;
    values[at++] = usdFromQuoteLots(sheet.maintenanceMarginQuoteLots);
    values[at++] = marginRatio;
    values[at++] = leverage;
    values[at++] = gross;
    values[at++] = usdFromQuoteLots(sheet.netNotionalQuoteLots);
    values[at++] = adverse;
    values[at++] = free;
    let holds = 0;
    for (let i = 0; i < state.positions.length; i++) {
      const { distance, more } = this.#position(account, state, i, equity, at, atMs);
      at += 9;
      holds += more;
      if (!account.begun && i === state.positions.length - 1)
        account.past(atMs, marginRatio, leverage, equity, distance);
    }
    account.begun = true;
    account.ratio.push(atMs, marginRatio);
    account.leverage.push(atMs, leverage);
    account.equity.push(atMs, equity);
    holds += Number(marginRatio > 0.8) + Number(adverse < 0.02 && state.positions.length > 1);
    holds += Number(["liquidatable", "backstopLiquidatable", "highRisk"].includes(sheet.riskTier));
    holds += Number((account.leverage.read(atMs) as number) > 1_000) + Number(free < 2 * initial - equity);
    for (let i = 0; i < sheet.count; i++)
      holds += Number(usdFromQuoteLots(Math.abs(sheet.legs[i]!.figures.positionValueQuoteLots)) > 20 * gross);
    holds += Number((account.ratio.read(atMs) as number) > 0.9);
    holds += Number((account.equity.read(atMs) as number) < -0.5);
    if (holds > 0) throw new Error("nothing should hold here");
    return values;
  }

  #position(
    account: AccountHand,
    { positions }: SubaccountState,
    index: number,
    equity: number,
    from: number,
    atMs: number,
  ): { readonly distance: number; readonly more: number } {
    const position = positions[index]!;
    const leg = this.#sheet.legs[index]!;
    const market = leg.market!;
    let kept = account.positions.get(position.symbol);
    if (kept === undefined) {
      kept = new PositionHand();
      account.positions.set(position.symbol, kept);
    }
    const { markTicks, liquidationTicks, figures } = leg;
    const distance = Math.abs(markTicks - liquidationTicks) / markTicks;
    const notional = Math.abs(usdFromQuoteLots(figures.positionValueQuoteLots));
    const unrealized = usdFromQuoteLots(figures.unrealizedQuoteLots);
    const mark = usdFromTicks(markTicks, market);
    const stop = position.triggers.find(({ kind, status }) => kind === "stopLoss" && status === "active");
    const stopAway =
      stop === undefined
        ? Number.POSITIVE_INFINITY
        : Math.abs(mark - usdFromTicks(stop.triggerPriceTicks, market)) / mark;
    const values = this.#values;
    values[from] = unitsFromBaseLots(position.baseLots, market);
    values[from + 1] = notional;
    values[from + 2] = Math.abs(leg.fast.virtualQuoteLots / leg.fast.size);
    values[from + 3] = mark;
    values[from + 4] = usdFromTicks(liquidationTicks, market);
    values[from + 5] = distance;
    values[from + 6] = unrealized;
    values[from + 7] = usdFromQuoteLots(position.unsettledFundingQuoteLots);
    values[from + 8] = stopAway;
    kept.day.push(atMs, distance);
    kept.hour.push(atMs, distance);
    const lowest = account.begun ? (kept.day.read(atMs) as number) : distance;
    const lowestOfHour = account.begun ? (kept.hour.read(atMs) as number) : distance;
    const more =
      Number(distance < 0.02) +
      Number(stop === undefined && notional > 500_000) +
      Number(lowest < 0.00001) +
      Number(stopAway < 0.001) +
      Number(unrealized / equity < -0.5) +
      Number(lowestOfHour < 0.001);
    return { distance, more };
  }
}
