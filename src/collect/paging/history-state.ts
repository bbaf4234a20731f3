/** The stored state of a paged history: the known range, and the ranges still to be read. */
const maxBacklogs = 8;

export interface Backlog {
  /** Null: start at the newest row. */
  readonly older: Readonly<Record<string, string>> | null;
  /** Read until a known page is older than this. */
  readonly untilMs: number;
  /** Events after this time are published, ms; left out by earlier versions: unknown. */
  readonly fromMs?: number;
}

export interface HistoryState {
  /** The time of the newest known row. */
  readonly edgeMs: number | null;
  readonly backlog: readonly Backlog[];
  /** The oldest row that may still change, ms; for a start that has not read it yet. */
  readonly openMs?: number | null;
  /** For each unreadable row, the time of the next newer one, ms: later events are published. */
  readonly unreadMs?: readonly number[];
}

/**
 * Merges ranges that overlap: a daemon that is restarted repeatedly would otherwise read the same rows once for each
 * start.
 */
export function joined(backlog: readonly Backlog[]): readonly Backlog[] {
  const ways: Backlog[] = [];
  for (const one of [...backlog].sort((a, b) => placeOf(b) - placeOf(a))) {
    const above = ways.findIndex(({ untilMs }) => untilMs <= placeOf(one));
    if (above < 0) {
      ways.push(one);
      continue;
    }
    const { older, untilMs } = ways[above]!;
    const fromMs = coveredMs([ways[above]!, one]);
    ways[above] = {
      older,
      untilMs: Math.min(untilMs, one.untilMs),
      ...(Number.isFinite(fromMs) ? { fromMs } : {}),
    };
  }
  return bounded(ways);
}

/**
 * Returns the time of the row after which a range continues. Unknown for ranges of earlier versions: they are not
 * merged.
 */
function placeOf({ older, fromMs }: Backlog): number {
  return older === null ? Number.POSITIVE_INFINITY : (fromMs ?? Number.NEGATIVE_INFINITY);
}

/** Merges the ranges into one if there are too many. */
function bounded(backlog: readonly Backlog[]): readonly Backlog[] {
  if (backlog.length <= maxBacklogs) return backlog;
  const fromMs = coveredMs(backlog);
  const untilMs = Math.min(...backlog.map((one) => one.untilMs));
  return [{ older: null, untilMs, ...(Number.isFinite(fromMs) ? { fromMs } : {}) }];
}

/** Returns the time after which events are published, ms: 0 if nothing is left to be read. */
export function coveredMs(backlog: readonly Backlog[]): number {
  return Math.max(0, ...backlog.map((one) => one.fromMs ?? Number.POSITIVE_INFINITY));
}

/** Maximum stored unreadable rows: the newest decide. */
const maxUnread = 20;

export function unreadIn(unreadMs: readonly number[]): Pick<HistoryState, "unreadMs"> {
  const newest = [...new Set(unreadMs)].sort((a, b) => b - a).slice(0, maxUnread);
  return newest.length === 0 ? {} : { unreadMs: newest };
}

export function parseState(stored: string | undefined): HistoryState {
  const fresh: HistoryState = { edgeMs: null, backlog: [] };
  if (stored === undefined) return fresh;
  try {
    const { edgeMs, backlog, openMs, unreadMs } = JSON.parse(stored) as HistoryState;
    return {
      ...(Array.isArray(unreadMs) ? unreadIn(unreadMs.filter(Number.isFinite)) : {}),
      ...(typeof openMs === "number" ? { openMs } : {}),
      edgeMs: typeof edgeMs === "number" ? edgeMs : null,
      backlog: Array.isArray(backlog) ? backlog : [],
    };
  } catch {
    return fresh;
  }
}
