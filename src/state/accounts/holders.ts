/**
 * The accounts that held each market, and when. Rows that name no subaccount (hourly funding) belong to the account that held
 * the market then, and to none if several did. Only wallets with several accounts need this; it is stored over restarts, for
 * the look-back period of rules.
 */

import { z } from "zod";
import type { Event } from "../../domain/event.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import { KeptKind, type KeptValues, keptNumber } from "../../domain/stored/kept.ts";
import type { AccountEntry } from "./account-entry.ts";

/** Funding rows cover the hour before their time. */
const coveredMs = 3_600_000;
/** Maximum time between the opening of a position and its first reading, ms. */
const slackMs = 60_000;
/** Maximum number of spans of a market: the oldest are dropped first. */
const maxSpans = 64;

/** `[account, fromMs, toMs]`: account as `0.1`; null: still held. */
type Span = readonly [account: string, fromMs: number, toMs: number | null];

/** By market, `0/SOL`: PDA index and symbol. */
type Spans = Record<string, readonly Span[]>;

/** By wallet. */
export const keptHolders: KeptKind<Spans> = new KeptKind(
  "wallet/{}/holders",
  z.record(z.string(), z.array(z.tuple([z.string(), keptNumber, keptNumber.nullable()]))),
);

export class Holders {
  readonly #wallets = new Map<string, Spans>();
  #keepMs: number;

  /** @param keepMs look-back period of rules over events, ms; 0: none */
  constructor(keepMs: number) {
    this.#keepMs = keepMs;
  }

  /** Sets the look-back period of reloaded rules. @param keepMs as for the constructor */
  keepFor(keepMs: number): void {
    this.#keepMs = keepMs;
  }

  /** @param ours returns true if a wallet name still has the same key */
  restore(keep: KeptValues, ours: (wallet: string) => boolean): void {
    for (const [wallet, spans] of keptHolders.all(keep)) if (ours(wallet)) this.#wallets.set(wallet, spans);
  }

  /** Takes the present accounts of a wallet's PDA index. */
  take(wallet: string, pdaIndex: number, accounts: readonly AccountEntry[], builder: ChangesBuilder): void {
    const known = this.#wallets.get(wallet);
    if (this.#keepMs === 0 || (accounts.length < 2 && known === undefined)) return;
    const { atMs } = builder;
    const spans: Spans = { ...known };
    let changed = false;
    for (const { ref, positions } of accounts) {
      const account = `${ref.pdaIndex}.${ref.subaccount}`;
      for (const [symbol, { node }] of positions) {
        const market = `${pdaIndex}/${symbol}`;
        const of = spans[market] ?? [];
        if (of.some(([who, , toMs]) => who === account && toMs === null)) continue;
        spans[market] = [...of, [account, node.bornMs, null] as const].slice(-maxSpans);
        changed = true;
      }
    }
    for (const [market, of] of Object.entries(spans)) {
      if (!market.startsWith(`${pdaIndex}/`)) continue;
      const symbol = market.slice(market.indexOf("/") + 1);
      const holds = (account: string): boolean =>
        accounts.some(
          ({ ref, positions }) => `${ref.pdaIndex}.${ref.subaccount}` === account && positions.has(symbol),
        );
      const now = of.flatMap((span): Span[] => {
        const [account, fromMs, toMs] = span;
        if (toMs === null) return holds(account) ? [span] : [[account, fromMs, atMs]];
        return toMs < atMs - this.#keepMs - coveredMs ? [] : [span];
      });
      if (now.length === of.length && now.every((span, i) => span === of[i])) continue;
      changed = true;
      if (now.length > 0) spans[market] = now;
      else delete spans[market];
    }
    if (!changed) return;
    this.#wallets.set(wallet, spans);
    keptHolders.put(wallet, spans, builder);
  }

  /** The accounts that an event may belong to by its market, as `0.1`; undefined: the market has no record. */
  of({ wallet, pdaIndex, symbol, happenedMs }: Event): readonly string[] | undefined {
    const spans = wallet === null ? undefined : this.#wallets.get(wallet);
    if (spans === undefined || symbol === null) return undefined;
    const accounts = new Set<string>();
    let known = false;
    for (const [market, of] of Object.entries(spans)) {
      const at = market.indexOf("/");
      if (market.slice(at + 1) !== symbol.toUpperCase()) continue;
      if (pdaIndex !== null && Number(market.slice(0, at)) !== pdaIndex) continue;
      known = true;
      for (const [account, fromMs, toMs] of of) {
        const ended = toMs !== null && toMs < happenedMs - coveredMs;
        if (!ended && fromMs - slackMs <= happenedMs) accounts.add(account);
      }
    }
    return known ? [...accounts] : undefined;
  }
}
