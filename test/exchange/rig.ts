/** A client, its sessions and a local exchange, all on one clock that the test moves. */
import { seededRandom } from "../../src/domain/clock.ts";
import type { SessionStore } from "../../src/domain/ports.ts";
import {
  type BadRecordReport,
  createExchange,
  type Exchange,
  type SessionChange,
  type SessionWallet,
} from "../../src/exchange/index.ts";
import type { SignatureEntry } from "../../src/exchange/session/sign-in.ts";
import { FakeClock } from "../support/clock.ts";
import { LocalExchange, type LocalExchangeOptions, testKey, testSigner } from "./local-exchange.ts";

export class MemorySessions implements SessionStore {
  readonly rows = new Map<string, Uint8Array>();
  /** The events, in order: "save main", "load main". */
  readonly log: string[] = [];
  failing = false;

  async load(wallet: string): Promise<Uint8Array | null> {
    this.log.push(`load ${wallet}`);
    return this.rows.get(wallet) ?? null;
  }
  async save(wallet: string, sealed: Uint8Array): Promise<void> {
    if (this.failing) throw new Error("database or disk is full");
    this.log.push(`save ${wallet}`);
    this.rows.set(wallet, sealed);
  }
  async remove(wallet: string): Promise<void> {
    this.rows.delete(wallet);
  }
}

export interface RigOptions extends Omit<LocalExchangeOptions, "clock"> {
  readonly requestsPerSecond?: number;
  readonly wallets?: readonly SessionWallet[];
  readonly clock?: FakeClock;
}

export interface Rig extends AsyncDisposable {
  readonly clock: FakeClock;
  readonly venue: LocalExchange;
  readonly store: MemorySessions;
  readonly exchange: Exchange;
  readonly changes: SessionChange[];
  readonly troubles: string[];
  readonly badRecords: BadRecordReport[];
  readonly signatures: (SignatureEntry & { readonly wallet: string })[];
  /** A second daemon on the same store and exchange, as after a restart. */
  boot(): Exchange;
}

export const main: SessionWallet = { name: "main", key: testSigner(testKey()), login: "message" };
/** A trader account's address; which one does not matter to the local exchange. */
export const traderPubkey = testKey("trader").address;

export async function rig(options: RigOptions = {}): Promise<Rig> {
  const clock = options.clock ?? new FakeClock("2026-03-01T12:00:00.250Z");
  const venue = await LocalExchange.start({ ...options, clock });
  const store = new MemorySessions();
  const changes: SessionChange[] = [];
  const troubles: string[] = [];
  const badRecords: BadRecordReport[] = [];
  const signatures: (SignatureEntry & { readonly wallet: string })[] = [];
  const booted: Exchange[] = [];
  const boot = () => {
    const exchange = createExchange({
      settings: { baseUrl: venue.url, requestsPerSecond: options.requestsPerSecond ?? 1_000 },
      version: "0.0.0-test",
      clock,
      random: seededRandom(7),
      wallets: options.wallets ?? [main],
      store,
      onSession: (change) => void changes.push(change),
      onTrouble: (wallet, detail) => void troubles.push(`${wallet}: ${detail}`),
      onBadRecord: (report) => void badRecords.push(report),
      onSignature: (wallet, entry) => void signatures.push({ wallet, ...entry }),
    });
    booted.push(exchange);
    return exchange;
  };
  const exchange = boot();
  return {
    clock,
    venue,
    store,
    exchange,
    changes,
    troubles,
    badRecords,
    signatures,
    boot,
    async [Symbol.asyncDispose]() {
      for (const one of booted) await clock.finish(one.stop());
      await venue[Symbol.asyncDispose]();
    },
  };
}
