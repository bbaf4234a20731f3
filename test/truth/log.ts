/**
 * The event log of a scenario: what was true at the exchange, what the daemon saw, committed and delivered, and what stood in
 * its way, in the order in which it came. The one thing that invariants and an oracle read.
 */
import { createHash } from "node:crypto";
import type { Message } from "../../src/domain/alerts/delivery.ts";
import type { FiringAlert, UnjudgedSubject, WalletStatus, WatchStatus } from "../../src/domain/status.ts";
import type { Changes } from "../../src/domain/stored/changes.ts";
import type { AccountVersion } from "../../src/simulator/accounts/position.ts";
import type { Garbling } from "./garble.ts";

/** Lives of the daemon are numbered from 1. */
export type LogEntry =
  /** A trader, the market or the exchange did something, by the script. */
  | { readonly kind: "deed"; readonly text: string }
  /** A transaction at the exchange: the accounts as they are after it, and the keys of new notifications. */
  | {
      readonly kind: "ledger";
      readonly slot: number;
      readonly accounts: readonly { readonly name: string; readonly version: AccountVersion }[];
      readonly notifications: readonly {
        readonly wallet: string;
        readonly id: number;
        readonly key: string;
        readonly type: string;
      }[];
    }
  | { readonly kind: "fault"; readonly text: string }
  | { readonly kind: "life"; readonly life: number; readonly text: string }
  /** The process stands still for so long. */
  | { readonly kind: "stalled"; readonly life: number; readonly ms: number }
  /** The daemon shows its figures, as `perpwatch status` and the page read them. `nowMs`: its clock. */
  | {
      readonly kind: "shown";
      readonly life: number;
      readonly nowMs: number;
      readonly wallets: readonly WalletStatus[];
      /** Rules that cannot judge a subject. */
      readonly unjudged: readonly Pick<UnjudgedSubject, "rule" | "subject" | "detail">[];
      /** Sources that are not read. */
      readonly blind: readonly Pick<WatchStatus["blind"][number], "wallet" | "source" | "sinceMs">[];
      /** Alerts that fire. */
      readonly firing: readonly Pick<FiringAlert, "id" | "rule" | "subject">[];
    }
  /** A request leaves the daemon. `underWay`: requests that wait for their answers, with this one. */
  | { readonly kind: "sent"; readonly life: number; readonly target: string; readonly underWay: number }
  /** Status null: no answer. `ofMs`: true time at which the exchange gave it. `sentMs`: true time at which it was asked. */
  | {
      readonly kind: "asked";
      readonly life: number;
      readonly target: string;
      readonly status: number | null;
      readonly ofMs: number;
      readonly sentMs: number;
      readonly garbled: Garbling | null;
      /** The wallet that a request to sign in, or one that was refused, is about; null: nobody's, or not looked for. */
      readonly wallet: string | null;
      /** The access token that was refused, or that a whole answer gives; null: none. */
      readonly token: string | null;
    }
  /** A stream of the daemon opens, or it is told of its end. `was`: it was open. `by`: the exchange ended or refused it. */
  | { readonly kind: "streamOpens"; readonly life: number }
  | { readonly kind: "streamEnds"; readonly life: number; readonly was: boolean; readonly by: boolean }
  /** A frame of a stream that was garbled reaches the daemon. */
  | { readonly kind: "garbledFrame"; readonly life: number; readonly garbled: Garbling }
  /** `bytesBefore`: the database with its write-ahead file, just before. */
  | {
      readonly kind: "committed";
      readonly life: number;
      readonly changes: Changes;
      readonly bytesBefore: number;
    }
  /** The disk took nothing of these. */
  | { readonly kind: "refused"; readonly life: number; readonly changes: readonly Changes[] }
  /** A stream frame about accounts, prices or notifications reached the daemon. */
  | { readonly kind: "frame"; readonly life: number; readonly text: string }
  | { readonly kind: "attempt"; readonly life: number; readonly channel: string; readonly id: string }
  /** A channel does not know the daemon's key. */
  | { readonly kind: "forbidden"; readonly life: number; readonly channel: string }
  /** A message is at its channel. @property attempt attempts before it, as the daemon counts them */
  | {
      readonly kind: "arrived";
      readonly life: number;
      readonly channel: string;
      readonly message: Message;
      readonly attempt: number;
    }
  /** A channel refuses a message for good. */
  | { readonly kind: "rejected"; readonly life: number; readonly channel: string; readonly id: string }
  /** The daemon was told that it is delivered. */
  | { readonly kind: "answered"; readonly life: number; readonly channel: string; readonly id: string }
  /** A notification was acknowledged at the exchange. */
  | { readonly kind: "acknowledged"; readonly life: number; readonly wallet: string; readonly key: string }
  | { readonly kind: "said"; readonly life: number; readonly level: number; readonly text: string };

export type Logged = LogEntry & {
  /** True wall time, ms. */
  readonly atMs: number;
};

export class EventLog {
  readonly entries: Logged[] = [];
  readonly #nowMs: () => number;
  readonly #hash = createHash("sha256");

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  add(entry: LogEntry): void {
    const atMs = this.#nowMs();
    this.entries.push({ ...entry, atMs });
    // Truth is what the scenario makes; what came of it is what has to be the same.
    if (entry.kind === "committed") this.#hash.update(jsonOf(entry.changes));
    else if (entry.kind === "arrived") this.#hash.update(jsonOf(entry.message));
  }

  of<K extends LogEntry["kind"]>(kind: K): readonly Extract<Logged, { kind: K }>[] {
    return this.entries.filter((one): one is Extract<Logged, { kind: K }> => one.kind === kind);
  }

  /** A hash of all observations, changes and messages so far. */
  digest(): string {
    return this.#hash.copy().digest("hex");
  }
}

export function jsonOf(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === "bigint") return `${part}n`;
    if (part instanceof Map) return [...part];
    if (part instanceof Set) return [...part];
    return part;
  });
}
