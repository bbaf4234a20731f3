/**
 * The shared parts of the collectors of paged histories: a wallet's history in parts, read, caught up with and
 * published.
 */

import type { Source } from "../../domain/sources.ts";
import { encodeForeign } from "../../domain/text/json.ts";
import { ExchangeError, IMPOSSIBLE_SLOT, type LedgerSlots } from "../../exchange/index.ts";
import type { BadRecords } from "../anomalies/bad-records.ts";
import type { OnUnknownWord } from "../anomalies/known-words.ts";
import type { RunOutcome, WalletCollector, WalletRun } from "../collector.ts";
import type { EventPublisher } from "../paging/event-publisher.ts";
import {
  catchUpOne,
  History,
  type HistoryOptions,
  type HistoryPage,
  type HistoryRow,
  historyCursor,
} from "../paging/paging.ts";

/** The inputs of every history. */
export interface HistoryParts {
  readonly publisher: EventPublisher;
  readonly badRecords: BadRecords;
  /** The cursors stored by an earlier start. */
  readonly cursors: ReadonlyMap<string, string>;
  /** Monotonic, ms. */
  readonly elapsedMs: () => number;
  /** A row whose slot is far ahead of the ledger counts as unreadable. */
  readonly slots: LedgerSlots;
}

type Page = HistoryOptions["page"];

interface Part {
  /** The name within the cursor. */
  readonly name: string;
  /** The PDA index, if the part belongs to one. */
  readonly pdaIndex?: number;
  readonly page: Page;
  readonly openSinceMs?: () => number | null;
}

interface Read {
  readonly history: History;
  readonly of: { readonly pdaIndex?: number };
}

export function historyCollector(
  shared: HistoryParts,
  spec: {
    readonly source: Source;
    /** The name in the table of endpoints, for reports. */
    readonly endpoint: string;
    /** The span of the past that is read for a new wallet, ms. */
    readonly pastMs: number;
    readonly parts: (run: WalletRun, onUnknown: OnUnknownWord) => readonly Part[];
  },
): WalletCollector {
  const { publisher, cursors, elapsedMs, badRecords, slots } = shared;
  const { source, pastMs } = spec;
  const onUnknown: OnUnknownWord = (field, word) => badRecords.unknownWord(spec.endpoint, field, word);
  const histories = new Map<string, readonly Read[]>();

  function of(run: WalletRun): readonly Read[] {
    const { name } = run.wallet;
    let known = histories.get(name);
    if (!known) {
      known = spec.parts(run, onUnknown).map((part) => {
        const cursor = historyCursor(source, name, part.name);
        const open = part.openSinceMs ? { openSinceMs: part.openSinceMs } : {};
        const history = new History({
          name: cursor,
          pastMs,
          publisher,
          stored: cursors.get(cursor),
          page: (...args) => readPage(part.page, ...args),
          ...open,
        });
        return { history, of: part.pdaIndex === undefined ? {} : { pdaIndex: part.pdaIndex } };
      });
      histories.set(name, known);
    }
    return known;
  }

  /**
   * Reads a page. Rows with impossible slots are left out, reported, and rejected like those that the client cannot
   * read.
   */
  async function readPage(
    page: Page,
    ...[run, older, catchUp, call]: Parameters<Page>
  ): Promise<HistoryPage> {
    let places: readonly number[] = [];
    const onRejected = (all: readonly number[]): void => {
      places = all;
    };
    const read = await page(run, older, catchUp, { ...call, onRejected });
    const atMs = run.nowMs();
    const isPossible = ({ events }: HistoryRow): boolean =>
      events.every(({ slot }) => slots.possible(slot, atMs));
    const rejected = [...places];
    for (const [index, row] of read.rows.entries()) {
      if (isPossible(row)) continue;
      // Rejected rows keep their places, so later rows are numbered with them.
      rejected.push(places.reduce((place, one) => (one <= place ? place + 1 : place), index));
      badRecords.take({
        ...{ endpoint: spec.endpoint, wallet: run.wallet.name, fields: [] },
        problem: `${spec.endpoint}: a row with ${IMPOSSIBLE_SLOT}`,
        body: () => {
          const text = encodeForeign(row.events);
          return text === undefined ? null : badRecords.withoutSecrets(text);
        },
      });
    }
    if (rejected.length > 0) call.onRejected?.(rejected.sort((a, b) => a - b));
    return rejected.length === places.length ? read : { ...read, rows: read.rows.filter(isPossible) };
  }

  async function read(run: WalletRun): Promise<RunOutcome> {
    let more = false;
    let failure: unknown = null;
    for (const { history, of: account } of of(run)) {
      let reading: Awaited<ReturnType<History["read"]>>;
      try {
        reading = await history.read(run, elapsedMs());
      } catch (error) {
        // A failure of one part does not affect the others.
        if (!(error instanceof ExchangeError)) throw error;
        failure ??= error;
        continue;
      }
      await publisher.publish(run, source, { ...reading.batch, ...account });
      reading.done();
      more ||= reading.more;
      failure ??= reading.failure;
    }
    if (failure !== null) throw failure;
    return more ? "more" : "done";
  }

  const catchUp = (run: WalletRun): Promise<RunOutcome> =>
    catchUpOne(of(run), run, ({ of: account }, batch) =>
      publisher.publish(run, source, { ...batch, ...account, past: true }),
    );

  return {
    source,
    scope: "wallet",
    needsSession: false,
    run: (run) => (run.catchUp ? catchUp(run) : read(run)),
  };
}
