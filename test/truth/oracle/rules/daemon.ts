/** daemon.yaml: rules about the daemon itself, by the figures that it recorded of itself. */
import type { DaemonFigures } from "../../../../src/domain/observation.ts";
import { duration, durationClaims, windowClaims } from "../duration.ts";
import {
  above,
  below,
  type Claim,
  claimsOf,
  type Ease,
  type Level,
  minuteMs,
  type Predicate,
  percent,
  type Text,
} from "../predicate.ts";
import type { View } from "../view.ts";
import { levelAbove } from "./margin.ts";

interface Rule {
  readonly rule: string;
  readonly forMs?: number;
  readonly keepMs?: number;
  /** Undefined: it cannot be judged. */
  readonly levels: (figures: DaemonFigures, view: View, ease: Ease) => readonly Level[] | undefined;
  readonly claims?: (figures: DaemonFigures, text: Text, view: View) => readonly Claim[];
  /** By what is known without its figures, from the start on. */
  readonly before?: (view: View) => readonly Level[] | undefined;
}

const ofTheDaemon = ({ rule, forMs = 0, keepMs = minuteMs, levels, claims, before }: Rule): Predicate => ({
  ...{ rule, forMs, keepMs },
  restsOnItself: true,
  subjects: () => ["daemon"],
  levels: (view, _, ease) => {
    const { figures, isOld } = view.seen.daemon;
    if (figures !== null && isOld)
      return levels(figures, view, ease)?.map(({ severity }) => level(severity, ease > 0, ease > 0));
    if (figures !== null) return levels(figures, view, ease);
    const first = before?.(view);
    return ease > 0 ? first : first?.map(({ severity }) => level(severity, false, false));
  },
  claims: (view, _, text) => {
    const { figures, isOld } = view.seen.daemon;
    return figures === null || isOld ? undefined : (claims?.(figures, text, view) ?? []);
  },
});

const level = (severity: Level["severity"], on: boolean, off: boolean): Level => ({ severity, on, off });
const above2 = (severity: Level["severity"], value: number, on: number, off = on): Level =>
  level(severity, value > on, off === on ? value <= off : value < off);

const seconds = (count: number): number => count * 1_000;

const pollsLate = ofTheDaemon({
  rule: "PollsLate",
  forMs: seconds(30),
  levels: ({ lagMs }) => [
    above2("info", lagMs, seconds(15)),
    above2("warning", lagMs, seconds(60), seconds(30)),
  ],
  claims: ({ lagMs, loopLagMs, budgetUsed, rateLimited }, text) => [
    ...durationClaims(text, "lag", new RegExp(`perpwatch runs ${duration} behind`), lagMs),
    ...durationClaims(text, "delay of timers", new RegExp(`its timers\\s+run ${duration} late`), loopLagMs),
    ...claimsOf(text, [
      [
        "share of the ceiling",
        new RegExp(`${percent} of the request ceiling`),
        rateLimited ? -1 : budgetUsed,
      ],
    ]),
  ],
});

const pollsFailing = ofTheDaemon({
  rule: "PollsFailing",
  forMs: minuteMs,
  levels: ({ failedPolls }, view, ease) => {
    const alerts = view.seen.noDataAlerts(view.nowMs);
    const alone = (ease > 0 ? alerts.least : alerts.most) === 0;
    return [level("warning", failedPolls >= 5 && alone, failedPolls === 0)];
  },
  claims: ({ failedPolls }, text) =>
    claimsOf(text, [
      ["failures in a row", /^([\d,]+) attempts in a row failed/, failedPolls],
      ["why", /Reads of the exchange fail: (.*)$/, undefined],
    ]),
});

const loopStalls = ofTheDaemon({
  rule: "LoopStalls",
  forMs: seconds(16),
  levels: ({ loopLagMs }) => [above2("warning", loopLagMs, seconds(2))],
  claims: ({ host, loopLagMs }, text) => [
    ...claimsOf(text, [["host", /^perpwatch on (\S+): its/, host]]),
    ...durationClaims(text, "delay of timers", new RegExp(`its timers\\s+run ${duration} late`), loopLagMs),
  ],
});

const clockOff = ofTheDaemon({
  rule: "ClockOff",
  forMs: seconds(30),
  levels: ({ clockOffsetMs }) => [above2("warning", Math.abs(clockOffsetMs), seconds(2), seconds(1))],
  claims: ({ clockOffsetMs }, text) => [
    ...durationClaims(
      text,
      "offset",
      new RegExp(`clock\\s+is ${duration} (?:behind|ahead)`),
      Math.abs(clockOffsetMs),
    ),
    ...claimsOf(text, [["direction", / (behind|ahead) /, clockOffsetMs < 0 ? "behind" : "ahead"]]),
  ],
});

const messagesUndelivered = ofTheDaemon({
  rule: "MessagesUndelivered",
  levels: ({ oldestUndeliveredMs: ms }, { terms }) => {
    const [warning, critical] = terms.durations("MessagesUndelivered", [2 * minuteMs, 10 * minuteMs]);
    return [above2("warning", ms, warning!), above2("critical", ms, critical!)];
  },
  claims: ({ undelivered, oldestUndeliveredMs }, text) => [
    ...claimsOf(text, [
      ["messages", /^([\d,]+) messages? (?:wait|has waited)/, undelivered],
      ["by whom", /to be delivered by (.*?)(?:, the oldest for .*)?$/, undefined],
    ]),
    ...durationClaims(
      text,
      "oldest",
      new RegExp(`(?:the oldest for|has waited) ${duration}`),
      oldestUndeliveredMs,
    ),
  ],
});

/** True if messages were given up within the last time that counts: by the latest time at which that may have been, and the earliest. */
function lostLately({ seen, terms, nowMs }: View): { readonly perhaps: boolean; readonly surely: boolean } {
  const [withinMs] = terms.durations("MessagesLost", [60 * minuteMs]);
  const { fromMs, toMs } = seen.daemon.deadSince ?? { fromMs: nowMs, toMs: nowMs };
  return { perhaps: nowMs - toMs < withinMs!, surely: nowMs - fromMs < withinMs! };
}

const messagesLost = ofTheDaemon({
  rule: "MessagesLost",
  levels: ({ deadMessages }, view, ease) => {
    const { perhaps, surely } = lostLately(view);
    const [on, off] = ease > 0 ? [perhaps, !surely] : [surely, !perhaps];
    return [level("critical", deadMessages > 0 && on, deadMessages === 0 || off)];
  },
  // Whatever the count is.
  before: (view) => (lostLately(view).surely ? undefined : [level("critical", false, true)]),
  claims: ({ deadMessages }, text, { terms }) => [
    ...claimsOf(text, [["messages", /^([\d,]+) messages? (?:was|were) given up/, deadMessages]]),
    ...windowClaims(text, terms.durations("MessagesLost", [60 * minuteMs])[0]!),
  ],
});

/** A count over a window, which moves each second: the text may be of the second before. */
function countClaims(
  text: Text,
  [name, pattern]: readonly [name: string, pattern: RegExp],
  countAt: (atMs: number) => number | undefined,
  windowMs: number,
  { nowMs, seen }: View,
): readonly Claim[] {
  const counts = [countAt(nowMs), countAt(nowMs - seconds(1))].filter((one) => one !== undefined);
  const gapMs = seen.daemon.gapMs(windowMs, nowMs);
  const most = Math.max(...counts) + (gapMs > 0 ? maxInGap + Math.ceil(gapMs / seconds(1)) : 0);
  const among = Array.from({ length: most - Math.min(...counts) + 1 }, (_, i) =>
    String(Math.min(...counts) + i),
  );
  return claimsOf(text, [[name, pattern, undefined]]).map((claim) =>
    counts.length === 0 ? claim : { name, text: claim.text, among },
  );
}

/** A time of which no figures are known has no more of what is counted than this, and one a second. */
const maxInGap = 5;

const signInsRefused = ofTheDaemon({
  rule: "SignInsRefused",
  keepMs: 15 * minuteMs,
  levels: (_, view, ease) => refusedLevels(view, view.seen.daemon.judgedMs, ease),
  before: (view) => refusedLevels(view, view.nowMs),
  claims: (figures, text, view) => [
    ...claimsOf(text, [
      [
        "wallets",
        /sessions of (.+) (?:once|[-\d,]+ times)/,
        view.seen.daemon.refusedWallets(figures, view.nowMs),
      ],
      [
        "wallets",
        /withdrawal and order of (.+); if not/,
        view.seen.daemon.refusedWallets(figures, view.nowMs),
      ],
    ]),
    ...countClaims(
      { ...text, summary: text.summary.replace(" once ", " 1 times ") },
      ["refusals", /sessions (?:of .+ )?([-\d,]+) times/],
      (atMs) => refusedLately(view, atMs),
      refusedWindowMs(view),
      view,
    ),
    ...windowClaims(text, refusedWindowMs(view)),
  ],
});

/** @param ease 0: it may be that nothing can be judged */
function refusedLevels(view: View, atMs: number, ease: Ease | 0 = 0): readonly Level[] | undefined {
  const count = view.seen.daemon.change("repeatedAuthFailures", refusedWindowMs(view), atMs);
  const most = view.terms.least("SignInsRefused", 10);
  if (count !== undefined) return [level("warning", count >= most, count < most)];
  // Nobody knows what was there at the beginning of the window.
  const isLost = ease !== 0 && view.seen.daemon.isLost(refusedWindowMs(view), atMs);
  return isLost ? [level("warning", ease > 0, ease > 0)] : undefined;
}

const refusedWindowMs = ({ terms }: View): number => terms.windowMs("SignInsRefused", 15 * minuteMs);
/** Windows are looked at when figures come. */
const refusedLately = (view: View, nowMs: number): number | undefined =>
  view.seen.daemon.change("authFailures", refusedWindowMs(view), nowMs);

const requestsNearCeiling = ofTheDaemon({
  rule: "RequestsNearCeiling",
  forMs: 5 * minuteMs,
  keepMs: 5 * minuteMs,
  levels: ({ budgetUsed }, _, ease) => [levelAbove(budgetUsed, "info", 0.95, 0.8, ease)],
  claims: ({ budgetUsed }, text) =>
    claimsOf(text, [["share of the ceiling", new RegExp(`^${percent} of the request ceiling`), budgetUsed]]),
});

const badWindowMs = ({ terms }: View): number => terms.windowMs("RecordsNotUnderstood", 60 * minuteMs);
const notUnderstood = (view: View, nowMs: number): number | undefined =>
  view.seen.daemon.change("badRecords", badWindowMs(view), nowMs);

/** @param ease as of `refusedLevels` */
function notUnderstoodLevels(view: View, atMs: number, ease: Ease | 0 = 0): readonly Level[] | undefined {
  const count = notUnderstood(view, atMs);
  if (count !== undefined) return [level("info", count > 0, count <= 0)];
  const isLost = ease !== 0 && view.seen.daemon.isLost(badWindowMs(view), atMs);
  return isLost ? [level("info", ease > 0, ease > 0)] : undefined;
}

const recordsNotUnderstood = ofTheDaemon({
  rule: "RecordsNotUnderstood",
  keepMs: 60 * minuteMs,
  levels: (_, view, ease) => notUnderstoodLevels(view, view.seen.daemon.judgedMs, ease),
  before: (view) => notUnderstoodLevels(view, view.nowMs),
  claims: (_, text, view) => [
    ...countClaims(
      text,
      ["answers", /^([-\d,]+) answers? of/],
      (atMs) => notUnderstood(view, atMs),
      badWindowMs(view),
      view,
    ),
    ...windowClaims(text, badWindowMs(view)),
  ],
});

const unitBytes: Readonly<Record<string, number>> = { B: 1, KB: 1e3, MB: 1e6, GB: 1e9 };

const databaseLarge = ofTheDaemon({
  rule: "DatabaseLarge",
  forMs: 10 * minuteMs,
  keepMs: 10 * minuteMs,
  levels: ({ databaseBytes }, { terms }, ease) => {
    const [on, off] = terms.bounds("DatabaseLarge", [20e9, 18e9]);
    // Another configuration may have switched it off.
    const sure = ease > 0 || !terms.changed;
    return [level("warning", sure && databaseBytes > on, sure && databaseBytes < off)];
  },
  claims: ({ databaseBytes }, text) => {
    const unit = /(?:grown|shrunk) to [\d.]+ ([KMG]?B)/.exec(text.summary)?.[1] ?? "";
    const size = databaseBytes / (unitBytes[unit] ?? Number.NaN);
    // Three digits.
    const room = 0.5 * 10 ** (Math.floor(Math.log10(size)) - 2);
    return claimsOf(text, [["size", /(?:grown|shrunk) to ([\d.]+) /, size, room]]);
  },
});

const loginTextChanged = ofTheDaemon({
  rule: "LoginTextChanged",
  levels: ({ loginTextRefused }) => [level("critical", loginTextRefused !== "", loginTextRefused === "")],
  claims: ({ loginTextRefused, signedOutWallets }, text) =>
    claimsOf(text, [
      [
        "reason",
        /^(?:No wallet signs in|\d+ of \d+ wallets signed out, a login is not signed): (.+)$/,
        loginTextRefused,
      ],
      ["wallets signed out", /^(\d+) of \d+ wallets signed out, a login/, signedOutWallets],
    ]),
});

const signerUnavailable = ofTheDaemon({
  rule: "SignerUnavailable",
  forMs: 15_000,
  levels: ({ signerUnavailable: why, signedOutWallets, signingWallets }) => {
    const isAll = signedOutWallets >= signingWallets;
    return [
      level("warning", why !== "", why === ""),
      level("critical", why !== "" && isAll, why === "" || !isAll),
    ];
  },
  claims: ({ signerUnavailable: why, signedOutWallets }, text) =>
    claimsOf(text, [
      ["reason", /^No wallet can sign in: (.+?)(?: \(\d+ of \d+ wallets signed out\))?$/, why],
      ["wallets signed out", /\((\d+) of \d+ wallets signed out\)$/, signedOutWallets],
    ]),
});

const streamDown = ofTheDaemon({
  rule: "StreamDown",
  forMs: 5 * minuteMs,
  levels: ({ streamConnected, failedPolls }) => [
    level("info", !streamConnected && failedPolls < 5, streamConnected),
  ],
});

/** Figures of the exchange are read so often, ms. */
const portfolioMs = 30_000;
/** Sums in doubles, and figures that the exchange rounds. */
const shareRoom = 1e-6;

const equityLevels = ({ seen, nowMs }: View, ease: Ease): readonly Level[] | undefined => {
  const { worst, comparedMs, isUnsure } = seen.daemon.equity;
  if (isUnsure) return [level("warning", ease > 0, ease > 0)];
  if (worst === undefined) return undefined;
  const sure = ease > 0 || nowMs - comparedMs < 2 * portfolioMs;
  const on = sure && above(worst, 0.02, ease, shareRoom);
  return [level("warning", on, sure && below(worst, 0.01, ease, shareRoom))];
};

const equityMismatch = ofTheDaemon({
  rule: "EquityMismatch",
  forMs: 20 * minuteMs,
  keepMs: 0,
  levels: (_, view, ease) => equityLevels(view, ease),
  before: (view) => equityLevels(view, 1),
  claims: (_, text, { seen: { daemon } }) => {
    const { worst, worstAccounts } = daemon.equity;
    const named = claimsOf(text, [["account", /^Equity of (\S+) as/, undefined]]);
    return [
      ...claimsOf(text, [
        ["difference", new RegExp(`is ${percent} (?:above|below)`), worst, shareRoom],
        ["side", /% (above|below) the exchange's/, daemon.equity.worstSide],
        [
          "agreement",
          /here (agrees with|is) /,
          worst === undefined ? undefined : worst === 0 ? "agrees with" : "is",
        ],
        ["side", /here (agrees with|is [\d.]+%)/, worst === 0 ? "agrees with" : undefined],
      ]),
      ...named.map((claim) =>
        worst === undefined ? claim : { name: claim.name, text: claim.text, among: worstAccounts },
      ),
    ];
  },
});

export const daemonRules: readonly Predicate[] = [
  pollsLate,
  pollsFailing,
  loopStalls,
  clockOff,
  messagesUndelivered,
  messagesLost,
  signInsRefused,
  loginTextChanged,
  signerUnavailable,
  requestsNearCeiling,
  recordsNotUnderstood,
  databaseLarge,
  streamDown,
  equityMismatch,
];
