/**
 * Faults between the daemon and the rest of the world: those of a scenario that are in force at a moment, as the
 * line to the exchange, the channels and the disk ask for them.
 */
import type { Random } from "../../src/domain/clock.ts";

/** Times are ms after the beginning of the scenario. */
interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** `share`: of requests, frames, messages or commits that are hit, 0 to 1. */
export type Fault = Span &
  (
    | /** No connection to the exchange. `streams`: those that stand break as well. */
    { readonly kind: "outage"; readonly streams: boolean }
    /** Histories of collateral, fills and liquidations of these wallets show what happens up to so much later. */
    | { readonly kind: "historiesLate"; readonly wallets: readonly string[]; readonly mostMs: number }
    /**
     * The daemon's database takes no commit: the disk is full, or another program locks it now and then. `opens`: a daemon that
     * starts gets it open all the same.
     */
    | {
        readonly kind: "diskFull";
        readonly reason: "full" | "busy";
        readonly share: number;
        readonly opens: boolean;
      }
    /** 429 with `Retry-After: 1` for everything. */
    | { readonly kind: "limited" }
    /** 5xx for what concerns these wallets. */
    | { readonly kind: "errors"; readonly wallets: readonly string[]; readonly status: number }
    /** Answers that are late by up to so much. */
    | { readonly kind: "slow"; readonly share: number; readonly mostMs: number }
    /** Requests that break off, before or after they were carried out. */
    | { readonly kind: "cutOff"; readonly share: number }
    | { readonly kind: "framesLost"; readonly share: number }
    | { readonly kind: "framesTwice"; readonly share: number }
    /** So that others overtake them. */
    | { readonly kind: "framesLate"; readonly share: number; readonly mostMs: number }
    /** Streams stand and nothing comes by them any more, pongs neither. */
    | { readonly kind: "halfOpen" }
    /** A channel refuses: with an error that passes, or with a limit and a time. */
    | { readonly kind: "channelRefuses"; readonly channel: string; readonly limited: boolean }
    /** A channel takes nothing and says nothing. */
    | { readonly kind: "channelHangs"; readonly channel: string }
    /** A channel takes messages, and its answers are lost. */
    | { readonly kind: "answersLost"; readonly channel: string; readonly share: number }
    | DaemonFault
  );

/** Faults that the rules about the daemon itself are for. */
export type DaemonFault =
  /** Sign-ins of these wallets are refused. Their sessions are revoked when it begins. */
  | { readonly kind: "signInsRefused"; readonly wallets: readonly string[]; readonly status: number }
  /** Sessions of these wallets are revoked, again and again. */
  | { readonly kind: "sessionsRevoked"; readonly wallets: readonly string[]; readonly everyMs: number }
  /** Answers and frames that are cut short or have a field of an impossible type. */
  | { readonly kind: "garbled"; readonly share: number }
  /** The exchange's own values of the accounts of these wallets are off by this share. */
  | { readonly kind: "equityOff"; readonly wallets: readonly string[]; readonly share: number }
  /** These streams break, and none comes back. `status`: the exchange refuses them; null: no connection. */
  | { readonly kind: "streamsDown"; readonly of: StreamsOf; readonly status: number | null }
  /** 5xx for one kind of reads, which no critical rule needs. */
  | { readonly kind: "partErrors"; readonly part: Part; readonly status: number }
  /** A channel refuses messages for good. */
  | { readonly kind: "channelRejects"; readonly channel: string; readonly share: number }
  /** A channel knows the daemon's key no more: it takes nothing until it does again. */
  | { readonly kind: "channelForbids"; readonly channel: string };

/** The common connection, those of wallets, or both. */
export type StreamsOf = "common" | "wallets" | "all";

/** Kinds of reads, by what their paths look like. */
export const parts = {
  orderbook: /^\/v1\/view\/orderbook\//,
  candles: /^\/v1\/candles\//,
  fundingRates: /^\/v1\/funding\//,
  funding: /\/funding-history/,
  portfolio: /\/portfolio-values/,
} as const;
export type Part = keyof typeof parts;

export type FaultKind = Fault["kind"];
type FaultOf<K extends FaultKind> = Extract<Fault, { kind: K }>;

export class Weather {
  readonly #faults: readonly Fault[];
  readonly #elapsedMs: () => number;

  constructor(faults: readonly Fault[], elapsedMs: () => number) {
    this.#faults = faults;
    this.#elapsedMs = elapsedMs;
  }

  /** The fault of a kind that is in force now. */
  now<K extends FaultKind>(kind: K, fits: (fault: FaultOf<K>) => boolean = () => true): FaultOf<K> | null {
    const atMs = this.#elapsedMs();
    for (const fault of this.#faults)
      if (fault.kind === kind && fault.fromMs <= atMs && atMs < fault.toMs && fits(fault as FaultOf<K>))
        return fault as FaultOf<K>;
    return null;
  }

  /** True if a fault of a kind hits this time. */
  hits(kind: "cutOff" | "framesLost" | "framesTwice" | "garbled" | "diskFull", random: Random): boolean {
    const fault = this.now(kind);
    return fault !== null && random() < fault.share;
  }

  /** The delay beside the usual one, ms. */
  lateMs(kind: "slow" | "framesLate", random: Random): number {
    const fault = this.now(kind);
    return fault !== null && random() < fault.share ? random() * fault.mostMs : 0;
  }
}
