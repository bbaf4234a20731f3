/** The state of a paged history, as the store keeps it: what is known, and the ways that are left to walk. */
const maxBacklogs = 8;

export interface Backlog {
  /** Null: from the newest row. */
  readonly older: Readonly<Record<string, string>> | null;
  /** Read until a known page is as old as this. */
  readonly untilMs: number;
  /** Events after this time are reported, ms; left out by earlier versions: nobody can say. */
  readonly fromMs?: number;
}

export interface HistoryState {
  /** The time of the newest row known. */
  readonly edgeMs: number | null;
  readonly backlog: readonly Backlog[];
  /** The oldest row that may still change, ms; for a start that has not met it yet. */
  readonly openMs?: number | null;
  /** For each row that could not be read, the time of the next newer one, ms: what happened later is told. */
  readonly unreadMs?: readonly number[];
}

/**
 * Ways that would come by the place where another one goes on become one: a daemon that is stopped again and again would
 * otherwise walk the same rows once for each start.
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

/** The time of the row that a way goes on behind. Nobody can say it of a way of earlier versions: it is passed by none. */
function placeOf({ older, fromMs }: Backlog): number {
  return older === null ? Number.POSITIVE_INFINITY : (fromMs ?? Number.NEGATIVE_INFINITY);
}

/** Too many places to go on from become one walk over all of them. */
function bounded(backlog: readonly Backlog[]): readonly Backlog[] {
  if (backlog.length <= maxBacklogs) return backlog;
  const fromMs = coveredMs(backlog);
  const untilMs = Math.min(...backlog.map((one) => one.untilMs));
  return [{ older: null, untilMs, ...(Number.isFinite(fromMs) ? { fromMs } : {}) }];
}

/** Events after this time are reported, ms: 0 where nothing is left to be read. */
export function coveredMs(backlog: readonly Backlog[]): number {
  return Math.max(0, ...backlog.map((one) => one.fromMs ?? Number.POSITIVE_INFINITY));
}

/** Kept of rows that could not be read: the newest decide. */
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
