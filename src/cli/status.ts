/** `perpwatch status`: what the daemon knows and how it is doing; without one, what it left. */
import type { Command } from "commander";
import { type Alert, severityRank } from "../domain/alert.ts";
import type { Message } from "../domain/delivery.ts";
import { formatDurationMs } from "../domain/duration.ts";
import { endingWaitText } from "../domain/ending-wait.ts";
import { plainWords } from "../domain/plain-words.ts";
import type { Silence } from "../domain/silence.ts";
import { sourceWords, stretchedText } from "../domain/source-words.ts";
import type { Source } from "../domain/sources.ts";
import type { FiringAlert } from "../domain/status.ts";
import { formatTime, timeOfDay } from "../domain/time-text.ts";
import type { Unit } from "../rules/vocabulary/field-types.ts";
import type { StatusAnswer } from "../web/api.ts";
import type { Wire, WireNumber } from "../web/wire.ts";
import { type Cli, type CommonOptions, declare, print, printJson } from "./command.ts";
import { locate, type Place } from "./configuration.ts";
import { ask } from "./daemon.ts";
import { withHistory } from "./history-reading.ts";
import { ago, counted, type Paint, paintFor, severityTint, shortAddress } from "./print.ts";
import { silenceTable } from "./silence.ts";
import { table } from "./table.ts";

type Status = Wire<StatusAnswer>;
type Figures = Readonly<Record<string, WireNumber | null>>;

export function statusCommand(program: Command, cli: Cli): void {
  declare(program, {
    usage: "status",
    summary: "wallets, sessions, positions, schedules, firing alerts, outbox, database",
    about: "Without a running daemon it prints what its database holds, and exits 1.",
    examples: ["status", "status --json"],
  }).action((options: CommonOptions) => status(cli, options));
}

async function status(cli: Cli, options: CommonOptions): Promise<void> {
  const place = await locate(cli, options.config);
  const answer = await ask<Status>(place, "GET", "/api/v1/status");
  if (answer.kind === "noDaemon") return left(cli, options, place);
  const known = await ask<{ silences: readonly Silence[] }>(place, "GET", "/api/v1/silences");
  const all = known.kind === "noDaemon" ? [] : known.body.silences;
  const silences = all.filter(({ endsMs }) => endsMs > Number(answer.body.nowMs));
  if (options.json) return printJson(cli, { running: true, ...answer.body, silences });
  const { formatNumber } = await import("../rules/format.ts");
  const show = (value: WireNumber | null | undefined, unit: Unit) =>
    value === null || value === undefined ? "–" : formatNumber(Number(value), unit);
  const paint = paintFor(cli.out);
  const { timezone } = place;
  const time = (ms: number) => timeText(ms, Number(answer.body.nowMs), timezone);
  const silenced =
    silences.length === 0 ? null : await silenceTable(silences, Number(answer.body.nowMs), paint);
  print(cli, sections(answer.body, paint, show, time, silenced).join("\n\n"));
}

type Show = (value: WireNumber | null | undefined, unit: Unit) => string;
type Time = (ms: number) => string;

/** With its date where that is not plain. */
function timeText(ms: number, nowMs: number, timezone: string): string {
  return (Math.abs(nowMs - ms) > 12 * 3_600_000 ? formatTime : timeOfDay)(ms, timezone);
}

/** @param silenced the silences that are not over; null: there are none */
function sections(status: Status, paint: Paint, show: Show, time: Time, silenced: string | null): string[] {
  const titled = (title: string, body: string) => `${paint("bold", title)}\n${body}`;
  const { watch, channels, schedules } = status;
  const parts = [
    headline(status, paint, time),
    titled("Wallets", walletTable(status, paint, show) + whyNoPnl(status, paint)),
    titled("Accounts", accountTable(status, paint, show)),
  ];
  const positions = positionTable(status, paint, show);
  parts.push(positions === null ? "No open positions." : titled("Positions", positions));
  const firing = watch.firing as readonly FiringAlert[];
  parts.push(
    firing.length === 0
      ? paint("green", "No alert is firing.")
      : titled("Firing", firingTable(firing, Number(status.nowMs), paint, time)),
  );
  if (watch.shadow.length > 0)
    parts.push(
      `${counted(watch.shadow.length, "alert")} of rules in shadow mode, sent to nobody: alerts --firing --shadow lists them.`,
    );
  if (silenced !== null) parts.push(titled("Silences", silenced));
  if (watch.pending.length > 0) parts.push(titled("Pending", pendingTable(status, paint)));
  const rules = ruleTable(status, paint);
  if (rules !== null) parts.push(titled("Rules that cannot judge everything", rules));
  if (watch.blind.length > 0) parts.push(titled("No data", noDataTable(status, paint)));
  if (channels.length > 0) parts.push(titled("Outbox", channelTable(status, paint)));
  if (schedules.length > 0)
    parts.push(titled("Schedules", scheduleTable(status, paint) + stretchedLine(status, paint)));
  if (status.streams) parts.push(titled("Streams", streamTable(status, paint)));
  parts.push(footer(status, show, paint, time));
  return parts;
}

function headline(status: Status, paint: Paint, time: Time): string {
  const { watch, state } = status;
  const tint = state === "running" ? "green" : state === "degraded" ? "red" : "yellow";
  const upMs = Number(status.nowMs) - Number(status.startedMs);
  return [
    `perpwatch ${status.version} is ${paint(tint, state)}, for ${formatDurationMs(upMs)}, ` +
      `with ${counted(Number(watch.rules), "rule")}`,
    `exchange: ${exchangeText(status, paint, time)}`,
  ].join("\n");
}

/** The exchange's state in words. The last report does not count while the daemon cannot be asked. */
function exchangeText(status: Status, paint: Paint, time: Time): string {
  const { active, gated, withdrawalsAvailable, seenMs } = status.watch.exchange;
  const known = [
    active === null ? "not seen yet" : active ? "trading" : paint("red", "trading is off"),
    ...(gated === true ? [paint("yellow", "admission gated")] : []),
    ...(withdrawalsAvailable === false ? [paint("yellow", "no withdrawals")] : []),
  ].join(", ");
  const { outage } = status;
  if (outage !== null) {
    const sinceMs = Number(outage.sinceMs);
    const lasting = formatDurationMs(Math.max(0, Number(status.nowMs) - sinceMs));
    const what = outage.what === "cannot be reached" ? "unreachable" : outage.what;
    return `${paint("red", `${what} since ${time(sinceMs)}`)} (${lasting}: ${outage.detail}), last known: ${known}`;
  }
  const { limited } = status.requests;
  if (limited) {
    const sinceMs = Number(limited.sinceMs);
    const lasting = formatDurationMs(Math.max(0, Number(status.nowMs) - sinceMs));
    return `${paint("red", `refuses requests with 429 since ${time(sinceMs)}`)} (${lasting}), last known: ${known}`;
  }
  const age = ageOf(status, ["exchangeStatus"], null)(numberOf(seenMs));
  return age.stale && seenMs !== null ? `${known}, ${paint("yellow", `as of ${age.text} ago`)}` : known;
}

interface Age {
  readonly text: string;
  readonly stale: boolean;
}

/** Older than three of its intervals, and ten seconds, is stale: rules do not judge by it much longer. */
function ageOf(
  status: Status,
  sources: readonly Source[],
  wallet: string | null,
): (seenMs: number | null) => Age {
  const own = status.schedules.filter(
    (one) => sources.includes(one.source) && (one.wallet === null || one.wallet === wallet),
  );
  const everyMs = Math.max(0, ...own.map((one) => Number(one.everyMs)));
  const nowMs = Number(status.nowMs);
  return (seenMs) => {
    if (seenMs === null) return { text: "never", stale: true };
    const ageMs = Math.max(0, nowMs - seenMs);
    return { text: formatDurationMs(ageMs), stale: ageMs > Math.max(10_000, 3 * everyMs) };
  };
}

function ageCell({ text, stale }: Age, paint: Paint): string {
  if (text === "never") return paint("yellow", text);
  return stale ? paint("yellow", `STALE ${text}`) : text;
}

function walletTable(status: Status, paint: Paint, show: Show): string {
  const rows = status.watch.wallets.map((wallet) => [
    wallet.name,
    shortAddress(wallet.authority),
    wallet.watchOnly ? "watch-only" : sessionText(status, wallet, paint),
    ageCell(ageOf(status, ["traderState"], wallet.name)(numberOf(wallet.seenMs)), paint),
    show(wallet.figures.equity, "usd"),
    show(wallet.figures.pnl, "usd"),
    show(wallet.unacked, "count"),
  ]);
  const right = (title: string) => ({ title, right: true });
  return table(
    [
      "name",
      "authority",
      "session",
      right("data age"),
      right("equity"),
      right("pnl since watched"),
      right("unacked"),
    ],
    rows,
    paint,
  );
}

/** Profit is what deposits and withdrawals do not explain, so it waits until they are read. */
function whyNoPnl({ watch, schedules }: Status, paint: Paint): string {
  const waiting = watch.wallets.filter(
    ({ figures }) => numberOf(figures.equity) !== null && numberOf(figures.pnl) === null,
  );
  const every = schedules.find(({ source }) => source === "collateral")?.everyMs;
  const often = every === undefined ? "" : `, every ${formatDurationMs(Number(every))}`;
  const reasons = new Map<string, string[]>();
  for (const { name, unexplained } of waiting) {
    const own = schedules.find(({ source, wallet }) => source === "collateral" && wallet === name);
    const fails =
      Number(own?.failuresInRow ?? 0) > 0 && own?.lastFailure ? `, fails: ${own.lastFailure.detail}` : "";
    const schedule = every === undefined ? "" : ` (schedule collateral${often}${fails})`;
    const why =
      typeof unexplained === "string"
        ? `not known while a change of collateral is unexplained: ${unexplained}${schedule}`
        : `known after the first reading of flows, deposits and withdrawals${schedule}`;
    reasons.set(why, [...(reasons.get(why) ?? []), name]);
  }
  return [...reasons]
    .map(([why, names]) => `\n${paint("gray", `pnl of ${names.join(", ")}: ${why}`)}`)
    .join("");
}

/** A session that the exchange takes, and that may not read its inbox, is not well. */
function sessionText(status: Status, wallet: Status["watch"]["wallets"][number], paint: Paint): string {
  const { signedIn, sessionDetail, name } = wallet;
  const text = sessionDetail === "" ? (signedIn ? "signed in" : "signed out") : sessionDetail;
  const inbox = status.schedules.find((one) => one.source === "notifications" && one.wallet === name);
  const refused = inbox?.lastFailure?.reason === "refused" && Number(inbox.failuresInRow) > 0;
  if (!signedIn || !refused) return paint(signedIn ? "green" : "red", text);
  const why = inbox.lastFailure.detail.replace(/^\w+: /, "");
  return paint("red", `${text}, but its notifications are refused: ${why}`);
}

function accountTable(status: Status, paint: Paint, show: Show): string {
  const right = (title: string) => ({ title, right: true });
  const rows = status.watch.wallets.flatMap(({ name: wallet, accounts }) => {
    const age = ageOf(status, ["traderState", "markets"], wallet);
    return accounts.map(({ name, state, riskTier, figures, orders, seenMs }) => {
      const ratio = numberOf(figures.marginRatio) ?? 0;
      const tint = ratio >= 0.8 ? "red" : ratio >= 0.5 ? "yellow" : null;
      const shown = show(figures.marginRatio, "ratio");
      return [
        name,
        state === null ? "–" : plainWords(state),
        riskTier === null ? "–" : plainWords(riskTier),
        show(figures.effectiveCollateral, "usd"),
        show(figures.maintenanceMargin, "usd"),
        tint === null ? shown : paint(tint, shown),
        show(figures.leverage, "times"),
        String(orders),
        ageCell(age(numberOf(seenMs)), paint),
      ];
    });
  });
  if (rows.length === 0) return paint("gray", "none seen yet");
  return table(
    [
      "account",
      "state",
      "risk tier",
      right("effective collateral"),
      right("maintenance"),
      right("margin ratio"),
      right("leverage"),
      right("orders"),
      right("data age"),
    ],
    rows,
    paint,
  );
}

/** Nearest to liquidation first. */
function positionTable(status: Status, paint: Paint, show: Show): string | null {
  const right = (title: string) => ({ title, right: true });
  const distanceOf = (figures: Figures) => numberOf(figures.liquidationDistance) ?? Number.POSITIVE_INFINITY;
  const rows = status.watch.wallets
    .flatMap(({ name: wallet, accounts }) =>
      accounts.flatMap(({ positions }) => positions.map((position) => ({ ...position, wallet }))),
    )
    .sort((a, b) => distanceOf(a.figures) - distanceOf(b.figures) || 0)
    .map(({ name, side, figures, seenMs, wallet }) => {
      const distance = distanceOf(figures);
      const noLiquidation = numberOf(figures.liquidationDistance) === Number.POSITIVE_INFINITY;
      const shown = show(figures.liquidationDistance, "ratio");
      const tint = distance < 0.05 ? "red" : distance < 0.15 ? "yellow" : null;
      return [
        name,
        sideOf(side, figures),
        show(figures.size, "units"),
        show(figures.notional, "usd"),
        show(figures.markPrice, "price"),
        noLiquidation ? "none" : show(figures.liquidationPrice, "price"),
        tint === null ? shown : paint(tint, shown),
        stopLossText(figures, paint, show),
        show(figures.unrealizedPnl, "usd"),
        ageCell(ageOf(status, ["traderState", "markets"], wallet)(numberOf(seenMs)), paint),
      ];
    });
  if (rows.length === 0) return null;
  return table(
    [
      "position",
      "side",
      right("size"),
      right("notional"),
      right("mark"),
      right("liquidation"),
      right("distance"),
      right("stop loss"),
      right("unrealized pnl at mark"),
      right("data age"),
    ],
    rows,
    paint,
  );
}

/** `$138.00`, with its share where it closes less than all; a position without one is worth a colour. */
function stopLossText(figures: Figures, paint: Paint, show: Show): string {
  const { stopLossPrice, stopLossCoverage } = figures;
  if (stopLossPrice === null) return paint("yellow", "none");
  const coverage = numberOf(stopLossCoverage);
  const part = coverage !== null && coverage < 0.995 ? ` for ${show(stopLossCoverage, "ratio")}` : "";
  return `${show(stopLossPrice, "price")}${stopLossPrice === undefined ? "" : part}`;
}

function sideOf(side: string, figures: Figures): string {
  const size = numberOf(figures.size);
  if (size !== null && size !== 0) return size > 0 ? "long" : "short";
  return /^(long|short)/.exec(side)?.[0] ?? "–";
}

/** Worst first. */
function firingTable(
  alerts: readonly (Alert | FiringAlert)[],
  nowMs: number,
  paint: Paint,
  time: Time,
): string {
  const rows = [...alerts]
    .sort((a, b) => severityRank[b.severity] - severityRank[a.severity] || a.firedAtMs - b.firedAtMs)
    .map((alert) => [
      String(alert.id),
      paint(severityTint(alert.severity), alert.severity),
      alert.rule,
      alert.subject,
      formatDurationMs(Math.max(0, nowMs - alert.firedAtMs)),
      alert.acknowledgedBy ?? "",
      [alert.summary, ...notesOf(alert, nowMs, time).map((note) => paint("yellow", `(${note})`))].join(" "),
    ]);
  const columns = [
    { title: "id", right: true },
    "severity",
    "rule",
    "subject",
    "for",
    "acknowledged",
    { title: "summary", text: true },
  ];
  return table(columns, rows, paint);
}

/** The age of an alert's text, where it is not of now, and that its end waits. */
function notesOf(alert: Alert | FiringAlert, nowMs: number, time: Time): string[] {
  if (!("textAtMs" in alert)) return [];
  const { textAtMs, endingWait, gone } = alert;
  return [
    ...(nowMs - textAtMs > 10_000 ? [`as of ${time(textAtMs)}`] : []),
    ...(endingWait ? [endingWaitText(endingWait, time)] : gone ? ["no longer holds"] : []),
  ];
}

/** A pending condition that began so much earlier than it counts has its beginning beside it, ms. */
const uncountedMs = 10_000;

function pendingTable(status: Status, paint: Paint): string {
  const rows = status.watch.pending.map(({ rule, subject, severity, sinceMs, heldMs, forMs }) => {
    const sinceText = formatDurationMs(Math.max(0, Number(status.nowMs) - Number(sinceMs)));
    // Time in which nothing fresh was read does not count.
    const uncounted = Number(status.nowMs) - Number(sinceMs) - Number(heldMs) > uncountedMs;
    return [
      paint(severityTint(severity), severity),
      rule,
      subject,
      `${formatDurationMs(Number(heldMs))} of ${formatDurationMs(Number(forMs))}`,
      uncounted ? `began ${sinceText} ago: time without fresh data does not count` : "",
    ];
  });
  return table(["severity", "rule", "subject", "held", ""], rows, paint);
}

/** Null: every rule can judge each of its subjects. */
function ruleTable(status: Status, paint: Paint): string | null {
  const { ruleStates, unjudged } = status.watch;
  const rows = ruleStates.flatMap(({ rule, mode, ok, noData, error }) => {
    if (Number(noData) === 0 && Number(error) === 0) return [];
    const worst = unjudged.find((one) => one.rule === rule && one.state === "error");
    const one = worst ?? unjudged.find((candidate) => candidate.rule === rule);
    const name = mode === "shadow" ? `${rule} (shadow)` : rule;
    const failing = Number(error) === 0 ? "0" : paint("red", String(error));
    const why = one ? `${one.subject}: ${one.detail}` : "";
    return [[name, String(ok), Number(noData) === 0 ? "0" : paint("yellow", String(noData)), failing, why]];
  });
  if (rows.length === 0) return null;
  return table(
    [
      "rule",
      { title: "ok", right: true },
      { title: "no data", right: true },
      { title: "error", right: true },
      "one of them",
    ],
    rows,
    paint,
  );
}

function noDataTable(status: Status, paint: Paint): string {
  const rows = status.watch.blind.map(({ wallet, source, sinceMs, rules }) => [
    paint("red", source === "configuration" ? source : `${sourceWords[source]} (${source})`),
    wallet ?? "exchange",
    formatDurationMs(Number(status.nowMs) - Number(sinceMs)),
    rules.join(", "),
  ]);
  return table(["no fresh", "of", "for", "rules that cannot judge"], rows, paint);
}

function channelTable(status: Status, paint: Paint): string {
  const rows = status.channels.map((channel) => [
    channel.name,
    channel.kind,
    channelState(channel, paint),
    String(channel.waiting),
    channel.oldestWaitingMs === null ? "" : formatDurationMs(Number(channel.oldestWaitingMs)),
    String(channel.delivered),
    Number(channel.dead) === 0 ? "0" : paint("red", String(channel.dead)),
    channel.detail,
  ]);
  const right = (title: string) => ({ title, right: true });
  return table(
    [
      "channel",
      "kind",
      "state",
      right("waiting"),
      "oldest",
      right("delivered since start"),
      right("given up"),
      "detail",
    ],
    rows,
    paint,
  );
}

function channelState({ working, retrying }: Status["channels"][number], paint: Paint): string {
  if (!working) return paint("red", "broken");
  return retrying ? paint("yellow", "retrying") : paint("green", "working");
}

function scheduleTable(status: Status, paint: Paint): string {
  const nowMs = Number(status.nowMs);
  const rows = status.schedules.map((schedule) => {
    const { source, wallet, everyMs, lastOkMs, lastFailure, failuresInRow, catchUpFailure } = schedule;
    const last = numberOf(lastOkMs);
    const every = Number(everyMs);
    const age = ago(last, nowMs);
    const isLate = last === null || nowMs - last > 3 * every;
    const reasons: string[] = [];
    if (Number(failuresInRow) > 0 && lastFailure !== null)
      reasons.push(
        `${counted(Number(failuresInRow), "failure")}, ${lastFailure.reason}: ${lastFailure.detail}`,
      );
    if (catchUpFailure !== null)
      reasons.push(
        `older pages: ${counted(Number(catchUpFailure.times), "failure")}, ${catchUpFailure.reason}: ${catchUpFailure.detail}`,
      );
    const failure = reasons.join("; ");
    return [
      source,
      wallet ?? "exchange",
      formatDurationMs(every),
      isLate ? paint("yellow", age) : age,
      failure === "" ? "" : paint("red", failure),
    ];
  });
  return table(["schedule", "of", "every", "last read", "failing"], rows, paint);
}

/** Sources that the request rate lets be read less often than configured. */
function stretchedLine({ stretched = [] }: Status, paint: Paint): string {
  if (stretched.length === 0) return "";
  return `\n${paint("yellow", stretchedText(stretched.map((one) => ({ ...one, staleAfterMs: Number(one.staleAfterMs), usuallyMs: Number(one.usuallyMs) }))))}`;
}

function streamTable(status: Status, paint: Paint): string {
  const nowMs = Number(status.nowMs);
  const right = (title: string) => ({ title, right: true });
  const rows = (status.streams?.connections ?? []).map((one) => {
    const sinceMs = numberOf(one.sinceMs);
    return [
      one.wallet ?? "public",
      one.connected ? paint("green", one.detail) : paint("yellow", one.detail),
      sinceMs === null ? "–" : formatDurationMs(Math.max(0, nowMs - sinceMs)),
      ago(numberOf(one.lastToldMs), nowMs),
      String(one.frames),
      String(one.badFrames),
      String(one.reconnects),
    ];
  });
  const titles = [
    "stream",
    "state",
    "for",
    "last message",
    right("frames"),
    right("bad"),
    right("reconnects"),
  ];
  const missed = Number(status.streams?.missed ?? 0);
  const note = missed === 0 ? "" : `\n${counted(missed, "change")} that polls showed and the stream did not`;
  return table(titles, rows, paint) + note;
}

/** States if somebody elsewhere hears that the daemon lives. */
function heartbeatLine({ heartbeat }: Status, paint: Paint, time: Time): readonly string[] {
  if (!heartbeat) return [];
  const { everyMs, lastOkMs, failure, withheld, failToldMs } = heartbeat;
  const parts = [
    `every ${formatDurationMs(Number(everyMs))}`,
    lastOkMs === null ? "none was taken yet" : `last taken ${time(Number(lastOkMs))}`,
    ...(withheld === null ? [] : [paint("yellow", `withheld: ${withheld}`)]),
    ...(failure === null ? [] : [paint("yellow", `failing: ${failure}`)]),
    ...(failToldMs === null ? [] : [`failUrl called ${time(Number(failToldMs))}`]),
  ];
  return [`heartbeat: ${parts.join(", ")}`];
}

/** The differences between the exchange's inboxes and what is known here. */
function auditLines({ inbox }: Status, paint: Paint, time: Time): readonly string[] {
  return (inbox?.audits ?? []).map(({ wallet, atMs, failure, differences, lasting, left }) => {
    const at = time(Number(atMs));
    if (failure !== null) return `inbox of ${wallet}: ${paint("yellow", `not audited at ${at}: ${failure}`)}`;
    const found = counted(Number(differences), "difference");
    const differs =
      Number(differences) === 0
        ? "agrees with what is known here"
        : paint(Number(lasting) > 0 ? "red" : "yellow", `${found}, ${lasting} not for the first time`);
    return `inbox of ${wallet}: ${differs}, ${left} left unacknowledged, as of ${at}`;
  });
}

/** The last fire drill, and its result. */
function drillLine({ drill }: Status, paint: Paint, time: Time): readonly string[] {
  if (!drill || (drill.last === null && drill.nextMs === null)) return [];
  const { last, nextMs } = drill;
  const failed = last?.channels.filter(({ failure }) => failure !== null).map(({ channel }) => channel) ?? [];
  const result =
    failed.length === 0
      ? paint("green", "every channel took it")
      : paint("red", `not taken by ${failed.join(", ")}`);
  const before = last === null ? "none yet" : `${time(Number(last.atMs))} by ${last.by}, ${result}`;
  return [`fire drill: ${before}${nextMs === null ? "" : `; next ${time(Number(nextMs))}`}`];
}

function requestsLine({ requests }: Status, show: Show, paint: Paint, time: Time): string {
  const { used, ratePerSecond, ceilingPerSecond, waiting, granted, limited } = requests;
  const bounds = [
    ceilingPerSecond === null ? "no ceiling" : `ceiling ${show(ceilingPerSecond, "count")}/s`,
    ...(granted ? [`granted by the exchange since ${time(Number(granted.sinceMs))}`] : []),
  ];
  const line = `requests: ${show(used, "ratio")} of ${show(ratePerSecond, "count")}/s (${bounds.join(", ")}), ${waiting} waiting`;
  if (!limited) return line;
  const until = `asked again at ${time(Number(limited.untilMs))}`;
  return `${line}; ${paint("red", `refused with 429 since ${time(Number(limited.sinceMs))}, ${until}`)}`;
}

function clockText(offsetMs: number, show: Show): string {
  if (offsetMs === 0) return "as the exchange's";
  return `${show(Math.abs(offsetMs), "duration")} ${offsetMs > 0 ? "ahead of" : "behind"} the exchange's`;
}

function footer(status: Status, show: Show, paint: Paint, time: Time): string {
  const { acknowledgements, database } = status;
  const waitingCommits = Number(database.waitingCommits);
  return [
    requestsLine(status, show, paint, time),
    `acknowledging: ${acknowledgements.waiting} waiting, ${acknowledgements.due} due; since the start ` +
      `${acknowledgements.confirmed} confirmed, ${acknowledgements.left} left unacknowledged`,
    ...auditLines(status, paint, time),
    ...drillLine(status, paint, time),
    ...heartbeatLine(status, paint, time),
    `database: ${database.path}, ${show(database.bytes, "bytes")}` +
      (waitingCommits === 0 ? "" : `, ${counted(waitingCommits, "commit")} waiting`),
    `clock: ${clockText(Number(status.clockOffsetMs), show)}; event loop late by ${show(status.loopLagMs, "duration")} at most`,
  ].join("\n");
}

function numberOf(value: WireNumber | null | undefined): number | null {
  return value === null || value === undefined ? null : Number(value);
}

/** No daemon: alerts that were firing, messages that were owed. */
async function left(cli: Cli, options: CommonOptions, place: Place): Promise<void> {
  const past = await withHistory(cli, place, async (history) => ({
    running: false as const,
    lastAliveMs: await history.lastAliveMs(),
    firing: await history.alerts({ state: "firing", shadow: false, limit: 1_000 }),
    owed: (await history.owed({ open: true })).length,
    messages: await history.messages({ open: true }),
    acknowledgements: (await history.acknowledgements({ open: true })).length,
    database: { path: place.databasePath, bytes: await history.sizeBytes() },
  }));
  cli.status = 1;
  if (options.json) return printJson(cli, past);
  const { formatNumber } = await import("../rules/format.ts");
  const time = (ms: number) => formatTime(ms, place.timezone);
  const paint = paintFor(cli.out);
  const nowMs = Date.now();
  const { lastAliveMs, firing, messages, owed } = past;
  const last =
    lastAliveMs === null ? "never" : `${formatTime(lastAliveMs, place.timezone)}, ${ago(lastAliveMs, nowMs)}`;
  print(cli, `last written: ${last}`);
  print(
    cli,
    `outbox: ${counted(owed, "item")} owed, ${counted(messages.length, "message")} not delivered${failing(messages)}`,
  );
  print(cli, `acknowledgements: ${past.acknowledgements} not finished`);
  print(cli, `database: ${place.databasePath}, ${formatNumber(past.database.bytes, "bytes")}`);
  if (firing.length === 0) print(cli, "\nNo alert was firing.");
  else print(cli, `\n${paint("bold", "Firing when it stopped")}\n${firingTable(firing, nowMs, paint, time)}`);
}

function failing(messages: readonly Message[]): string {
  const reasons = [...new Set(messages.flatMap((message) => message.lastFailure ?? []))];
  return reasons.length === 0 ? "" : ` (${reasons.join(", ")})`;
}
