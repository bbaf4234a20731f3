/** Events at the exchange that the shipped rules tell of, with what a message about each has to say. */
import type { Alert } from "../../../src/domain/alert.ts";
import type { Notification, Wallet, World } from "../../../src/simulator/state.ts";
import type { Outcome } from "../scenario.ts";
import { type Claim, claimsOf, money, type Text } from "./predicate.ts";

export interface Happened {
  readonly rule: string;
  /** Null: of the exchange. */
  readonly wallet: string | null;
  /** Subject of its alert. */
  readonly subject: string;
  /** True wall time, ms. */
  readonly atMs: number;
  /** For people. */
  readonly what: string;
  /** True if an alert tells of it. @param happenedMs as the alert has it */
  readonly isIn: (alert: Alert, happenedMs: number | null) => boolean;
  readonly claims: (text: Text) => readonly Claim[];
}

/** Rules of notifications, by type. */
export const ruleOfType: Readonly<Record<string, string>> = {
  spot_collateral_liquidation: "SpotCollateralLiquidated",
  risk_engine_cancel_order: "OrderCancelledByRiskEngine",
  stop_loss_executed: "StopLossExecuted",
  conditional_order_executed: "StopLossExecuted",
  order_filled: "OrderFilled",
  stop_loss_order_placed: "StopLossPlaced",
};

const units = (lots: bigint, decimals: number): number => Math.abs(Number(lots)) / 10 ** decimals;

/** Times of notifications are whole seconds. */
const secondMs = 1_000;

export function happenedIn({ plan, simulator, log }: Outcome): readonly Happened[] {
  const { world } = simulator;
  const found: Happened[] = [];
  const keys = new Map<string, string>();
  const announced = new Set<number>();
  for (const { notifications } of log.of("ledger"))
    for (const one of notifications) keys.set(`${one.wallet} ${one.id}`, one.key);
  for (const wallet of world.wallets.values()) {
    const terms = plan.world.wallets.find(({ name }) => name === wallet.name);
    if (!terms) continue;
    found.push(...withdrawals(wallet), ...liquidations(wallet, world));
    // Nobody can read the inbox of another's wallet.
    if (terms.watchOnly) continue;
    for (const one of wallet.notifications.all()) {
      const key = keys.get(`${wallet.name} ${one.id}`);
      const event = key === undefined ? null : notified(wallet, one, key, world);
      // An announcement to all is one, whoever reads it.
      if (!event || (one.source === "admin" && announced.has(one.id))) continue;
      if (one.source === "admin") announced.add(one.id);
      found.push(event);
    }
  }
  return found.filter(({ subject }) => isRead(plan.world.wallets, subject)).sort((a, b) => a.atMs - b.atMs);
}

/** A configuration may name the PDA indices that are read. */
function isRead(wallets: Outcome["plan"]["world"]["wallets"], subject: string): boolean {
  const [name, place] = subject.split("/");
  const { pdaIndices } = wallets.find((one) => one.name === name)!;
  return place === undefined || pdaIndices.length === 1 || pdaIndices.includes(Number(place.split(".")[0]));
}

function withdrawals({ name, authority, collateral }: Wallet): readonly Happened[] {
  return collateral
    .all()
    .flatMap(({ type, amount, collateralAfter, atMs, account, ...place }): Happened[] => {
      const [out, left] = [Number(amount) / 1e6, Number(collateralAfter) / 1e6];
      if (type !== "withdrawal" || out < 100 || !(out > 0.25 * (left + out))) return [];
      const { pdaIndex, subaccount } = account;
      const { slot, slotIndex, eventIndex } = place;
      return [
        {
          rule: "UnusualWithdrawal",
          wallet: name,
          subject: `${name}/${pdaIndex}.${subaccount}`,
          atMs,
          what: `withdrawal of ${out}`,
          isIn: ({ eventKey }) =>
            eventKey ===
            `collateral:collateral:${authority}:${pdaIndex}:${subaccount}:${slot}:${slotIndex}:${eventIndex}`,
          claims: (text) =>
            claimsOf(text, [
              ["amount", new RegExp(`${money} withdrawn`), out],
              ["left", new RegExp(`${money} left in`), left],
            ]),
        },
      ];
    });
}

function liquidations(
  { name, liquidations: all }: Wallet,
  { markets }: Outcome["simulator"]["world"],
): readonly Happened[] {
  return all.all().flatMap(({ account, symbol, role, detail, atMs }): Happened[] => {
    // The caller of a deleveraging lost nothing.
    if (account === null || role === "adl_caller") return [];
    const { baseLotsDecimals } = markets.get(symbol)!.spec;
    const size = units(detail.lots, baseLotsDecimals);
    const quote = Math.abs(Number(detail.kind === "adl" ? detail.closeValue : detail.quoteLots)) / 1e6;
    const position = `${name}/${account.pdaIndex}.${account.subaccount}/${symbol}`;
    return [
      {
        rule: detail.kind === "adl" ? "AutoDeleveraged" : "Liquidated",
        wallet: name,
        subject: position,
        atMs,
        what: `${role} of ${size} ${symbol}`,
        // The inbox and the history name it in ways of their own.
        isIn: ({ subject }, happenedMs) =>
          position.startsWith(subject) && happenedMs !== null && Math.abs(happenedMs - atMs) <= secondMs,
        claims: (text) =>
          claimsOf(text, [
            ["notional", new RegExp(`LIQUIDATED \\S+(?: \\w+)?, ${money}`), quote],
            ["size", /, ([\d,.]*\d) closed by the exchange/, size],
            ["size", /size ([\d,.]*\d)/, size],
          ]),
      },
    ];
  });
}

function notified({ name }: Wallet, one: Notification, key: string, { markets }: World): Happened | null {
  const { source, notificationType, createdMs, account, data, id } = one;
  const rule = source === "event" ? ruleOfType[notificationType] : "Announcement";
  if (rule === undefined) return null;
  const fields = (data ?? {}) as Readonly<Record<string, string>>;
  const market = markets.get(fields.symbol ?? "");
  const place = account ? `/${account.pdaIndex}.${account.subaccount}` : "";
  const size =
    market && fields.baseLotsFilled !== undefined
      ? units(BigInt(fields.baseLotsFilled), market.spec.baseLotsDecimals)
      : undefined;
  const quote = Math.abs(Number(fields.quoteLotsFilled ?? 0)) / 1e6;
  const tick = market && (market.spec.tickSize * 10 ** market.spec.baseLotsDecimals) / 1e6;
  return {
    rule,
    wallet: name,
    subject: `${name}${place}`,
    atMs: createdMs,
    what: notificationType,
    isIn: ({ eventKey }) =>
      source === "admin"
        ? new RegExp(`^notification:notification:admin:.*:${id}$`).test(eventKey ?? "")
        : eventKey === `notification:${key}`,
    claims: (text) =>
      claimsOf(text, [
        ["size", /: (?:bought|sold) ([\d,.]*\d)/, size],
        // Printed to the tick.
        ["price", new RegExp(` at ${money}`), size ? quote / size : undefined, tick ? tick / 2 : 0],
      ]),
  };
}
