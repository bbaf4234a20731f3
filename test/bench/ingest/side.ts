/** The daemon's inner half, handed bytes: what the client, the collector, ingest, watch and history make of an answer. */
import { AccountBook } from "../../../src/collect/accounts.ts";
import { BadRecords } from "../../../src/collect/anomalies/bad-records.ts";
import { marketsCollector } from "../../../src/collect/collectors/markets.ts";
import { traderStateCollector } from "../../../src/collect/collectors/trader-state.ts";
import { endpoints } from "../../../src/contract/endpoints.ts";
import { parseJson } from "../../../src/contract/json.ts";
import { parseReply } from "../../../src/contract/reply.ts";
import type { Clock } from "../../../src/domain/clock.ts";
import type { Observation } from "../../../src/domain/observation.ts";
import type { Changes } from "../../../src/domain/stored/changes.ts";
import type { Watch } from "../../../src/engine/watch.ts";
import { type ExchangeClient, LedgerSlots, lanes } from "../../../src/exchange/index.ts";
import { ingestLoop } from "../daemon/judging.ts";
import type { BenchWallet } from "../daemon/world.ts";

/** Observations that make a transaction, and rows of the bare loop. */
export const perCommit = 64;

/** An answer as the client reads it. */
export function readReply<R>(endpoint: Parameters<typeof parseReply<R>>[0], bytes: Buffer): R {
  const reply = parseReply<R>(endpoint, parseJson(bytes.toString("utf8")));
  if (!reply.ok || reply.rejected.length > 0) throw new Error(`${endpoint.name} does not fit`);
  return reply.record;
}

/** A clock that stands where it is told to, and wakes nobody. */
export function toldClock(atMs: number): Clock & { tell(atMs: number): void } {
  let nowMs = atMs;
  return {
    nowMs: () => nowMs,
    elapsedMs: () => nowMs,
    sleep: () => Promise.resolve(),
    after: () => () => {},
    tell: (toMs) => {
      nowMs = toMs;
    },
  };
}

export interface IngestSide {
  /** An answer about a wallet, at this time. */
  state(wallet: BenchWallet, bytes: Buffer, atMs: number): Promise<void>;
  prices(bytes: Buffer, atMs: number): Promise<void>;
  time(atMs: number): void;
  /** Hands on what waits, and resolves when all is committed. */
  settle(): Promise<void>;
  stop(): Promise<void>;
}

export function ingestSide(parts: {
  readonly wallets: readonly BenchWallet[];
  readonly watch: Watch;
  readonly store: Parameters<typeof ingestLoop>[0]["store"];
  readonly clock: Clock;
  readonly onCommitted?: (changes: Changes) => void;
}): IngestSide {
  const { watch, store, clock } = parts;
  const ingest = ingestLoop({
    watch,
    store,
    clock,
    onCommitted: (changes) => {
      const [change] = changes.alertChanges;
      if (change) throw new Error(`nothing should fire here: ${change.alert.summary}`);
      parts.onCommitted?.(changes);
    },
  });
  const log = {
    debug: () => {},
    info: () => {},
    warn: (_: object, text: string) => {
      throw new Error(text);
    },
  };
  const collected = new Map(
    parts.wallets.map(({ name, authority }) => [
      name,
      { name, authority, watchOnly: true, pdaIndices: [0] as readonly number[] },
    ]),
  );
  const states = traderStateCollector({
    accounts: new AccountBook([...collected.values()], new Map()),
    badRecords: new BadRecords(clock, log, () => {}),
    onNewAccount: () => {},
    elapsedMs: () => 0,
    everyMs: 5_000,
    slots: new LedgerSlots(),
  });
  const markets = marketsCollector(null, () => 0);
  if (markets.scope !== "exchange") throw new Error("prices are of the exchange");
  let answer: Buffer = Buffer.alloc(0);
  let nowMs = 0;
  // Only what is asked here is ever answered.
  const client = {
    traderState: () => Promise.resolve(readReply(endpoints.traderState, answer)),
    latestMarketsStats: () => Promise.resolve(readReply(endpoints.latestMarketsStats, answer)),
  } as unknown as ExchangeClient;
  const { signal } = new AbortController();
  const waiting: Observation[] = [];
  const hand = (): void => {
    for (const one of waiting.splice(0)) void ingest.observe(one);
  };
  const run = {
    client,
    catchUp: false,
    gap: false,
    call: () => ({ lane: lanes.state, signal, deadlineMs: 15_000 }),
    nowMs: () => nowMs,
    observe: (observation: Observation): Promise<void> => {
      waiting.push(observation);
      return Promise.resolve();
    },
  } as const;
  return {
    async state({ name }, bytes, atMs) {
      answer = bytes;
      nowMs = atMs;
      await states.run({ ...run, wallet: collected.get(name)! });
      if (waiting.length < perCommit) return;
      hand();
      await ingest.settled();
    },
    async prices(bytes, atMs) {
      answer = bytes;
      nowMs = atMs;
      await markets.run(run);
    },
    time(atMs) {
      waiting.push({ kind: "time", atMs });
    },
    async settle() {
      hand();
      await ingest.settled();
    },
    async stop() {
      hand();
      await ingest.stop();
    },
  };
}
