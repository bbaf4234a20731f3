/** Answers to questions in a chat: a title and lines. Figures have their age beside them where it matters. Pure. */
import { type Alert, severityRank } from "../domain/alerts/alert.ts";
import { endingWaitText } from "../domain/alerts/ending-wait.ts";
import type { Matcher, Silence } from "../domain/alerts/silence.ts";
import type { Actions, AlertStory } from "../domain/ports.ts";
import type { DaemonStatus, MarketStatus, PositionStatus, WalletStatus } from "../domain/status.ts";
import { formatDurationMs } from "../domain/text/duration.ts";
import {
  absentText,
  formatAmount,
  formatPercent,
  formatPrice,
  formatRate,
  formatUsd,
} from "../domain/text/number-text.ts";
import { sourceWords } from "../domain/text/source-words.ts";
import { formatTime, timeOfDay } from "../domain/text/time-text.ts";
import { glyphs } from "./message/glyphs.ts";
import { leadOf } from "./message/lead.ts";
import type { Tone } from "./message/rendering.ts";
import { cleanLine, ownLine } from "./message/text.ts";

/** A line of plain text. A pair has its first part in bold. */
export type Line = string | readonly [bold: string, rest: string];

export interface Answer {
  /** Empty: the answer has lines only. */
  readonly title: string;
  readonly lines: readonly Line[];
  /** Left out: neutral. */
  readonly tone?: Tone;
  /** Set if an alert was acknowledged or silenced. Left out: nothing changed. */
  readonly changed?: true;
}

/** Makes an answer of one or two sentences. */
export function note(text: string): Answer {
  return { title: "", lines: [text] };
}

type Figures = Readonly<Record<string, number | null>>;
type Format = (value: number) => string;

function shown(figures: Figures, name: string, format: Format): string {
  const value = figures[name];
  return value === undefined || value === null ? absentText : format(value);
}

function ageOf(seenMs: number | null, nowMs: number): string {
  return seenMs === null ? "not seen yet" : `seen ${formatDurationMs(Math.max(0, nowMs - seenMs))} ago`;
}

export function statusAnswer(status: DaemonStatus, timezone: string): Answer {
  const { watch, outage, channels } = status;
  const worst = worstFirst(watch.firing)[0]?.severity;
  const count = (level: string) => watch.firing.filter(({ severity }) => severity === level).length;
  const firing =
    watch.firing.length === 0
      ? "none"
      : (["critical", "warning", "info"] as const)
          .filter((level) => count(level) > 0)
          .map((level) => `${count(level)} ${level}`)
          .join(", ");
  const up = formatDurationMs(Math.max(0, watch.atMs - status.startedMs));
  const lines: Line[] = [
    ["Firing:", firing],
    [
      "Exchange:",
      outage === null
        ? exchangeText(watch.exchange)
        : `${outage.what} since ${timeOfDay(outage.sinceMs, timezone)}: ${outage.detail}`,
    ],
    ...watch.wallets.map(
      ({ name, figures, seenMs, accounts }): Line => [
        `${name}:`,
        `equity ${shown(figures, "equity", formatUsd)}, ` +
          `${accounts.reduce((sum, { positions }) => sum + positions.length, 0)} positions, ${ageOf(seenMs, watch.atMs)}`,
      ],
    ),
    ...watch.blind.map(
      ({ wallet, source, sinceMs, rules }): Line => [
        `No data${wallet === null ? "" : ` for ${wallet}`}:`,
        `${source === "configuration" ? "its configuration" : sourceWords[source]} since ${timeOfDay(sinceMs, timezone)}, ${rules.length} rules wait`,
      ],
    ),
    ...channels
      .filter(({ working, retrying, waiting }) => !working || retrying || waiting > 0)
      .map(({ name, detail, waiting }): Line => [`Channel ${name}:`, `${waiting} waiting; ${detail}`]),
  ];
  return {
    title: `perpwatch ${status.version} is ${status.state}, for ${up}`,
    lines,
    tone: worst ?? "good",
  };
}

function exchangeText({ active, gated, withdrawalsAvailable }: DaemonStatus["watch"]["exchange"]): string {
  return [
    active === null ? "not seen yet" : active ? "trading" : "trading is off",
    ...(gated === true ? ["admission gated"] : []),
    ...(withdrawalsAvailable === false ? ["no withdrawals"] : []),
  ].join(", ");
}

/** @returns the selected wallets, or the answer that the name is unknown */
function walletsNamed({ watch }: DaemonStatus, name: string): readonly WalletStatus[] | Answer {
  if (name === "") return watch.wallets;
  const found = watch.wallets.filter((one) => one.name === name);
  const names = watch.wallets.map((one) => one.name).join(", ");
  return found.length > 0 ? found : note(`There is no wallet ${name}. There are: ${names || "none"}.`);
}

function isAnswer(found: readonly WalletStatus[] | Answer): found is Answer {
  return !Array.isArray(found);
}

const positionsOf = (wallets: readonly WalletStatus[]): PositionStatus[] =>
  wallets.flatMap(({ accounts }) => accounts.flatMap(({ positions }) => positions));

export function positionsAnswer(status: DaemonStatus, wallet: string): Answer {
  const wallets = walletsNamed(status, wallet);
  if (isAnswer(wallets)) return wallets;
  const distance = ({ figures }: PositionStatus) => figures.liquidationDistance ?? Number.POSITIVE_INFINITY;
  const positions = positionsOf(wallets).sort((a, b) => distance(a) - distance(b) || 0);
  if (positions.length === 0) return note("No open positions.");
  const lines = positions.map((position): Line => {
    const { name, side, figures, seenMs } = position;
    const away = figures.liquidationDistance;
    const liquidation =
      figures.liquidationPrice === undefined
        ? "liquidation not known"
        : figures.liquidationPrice === null
          ? "no liquidation price"
          : `liquidation ${formatPrice(figures.liquidationPrice)}` +
            (away === null || away === undefined ? "" : ` (${formatPercent(away)} away)`);
    return [
      `${name} ${side}`,
      [
        shown(figures, "size", formatAmount),
        `mark ${shown(figures, "markPrice", formatPrice)}`,
        liquidation,
        `PnL ${shown(figures, "unrealizedPnl", formatUsd)}`,
        ageOf(seenMs, status.watch.atMs),
      ].join(" · "),
    ];
  });
  return { title: counted(positions.length, "open position"), lines };
}

export function alertsAnswer(status: DaemonStatus, wallet: string, timezone: string): Answer {
  const wallets = walletsNamed(status, wallet);
  if (isAnswer(wallets)) return wallets;
  const firing = worstFirst(status.watch.firing).filter((one) => wallet === "" || one.wallet === wallet);
  if (firing.length === 0) return { ...note("No alert is firing."), tone: "good" };
  const lines = firing.map((alert): Line => {
    const since = formatDurationMs(Math.max(0, status.watch.atMs - alert.firedAtMs));
    const by = alert.acknowledgedBy === null ? "" : ` · acknowledged by ${cleanLine(alert.acknowledgedBy)}`;
    const old =
      status.watch.atMs - alert.textAtMs > 60_000 ? ` · as of ${timeOfDay(alert.textAtMs, timezone)}` : "";
    const ending = alert.endingWait
      ? ` · ${endingWaitText(alert.endingWait, (ms) => timeOfDay(ms, timezone))}`
      : alert.gone
        ? " · no longer holds"
        : "";
    return [
      `${glyphs[alert.severity]} #${alert.id}`,
      `${ownLine(alert.summary)} · for ${since}${by}${old}${ending}`,
    ];
  });
  return {
    title: `${counted(firing.length, "alert")} firing`,
    lines,
    tone: firing[0]!.severity,
  };
}

export function fundingAnswer(status: DaemonStatus, wallet: string): Answer {
  const wallets = walletsNamed(status, wallet);
  if (isAnswer(wallets)) return wallets;
  const held = new Set(positionsOf(wallets).map(({ symbol }) => symbol));
  const rate = ({ figures }: MarketStatus) => Math.abs(figures.fundingRate ?? 0);
  const markets = status.watch.markets
    .filter(({ symbol }) => held.has(symbol))
    .sort((a, b) => rate(b) - rate(a))
    .map(({ symbol, figures }): Line => {
      const paying = figures.fundingRate ?? 0;
      const who = paying === 0 ? "" : paying > 0 ? ", longs pay" : ", shorts pay";
      return [
        symbol,
        `${shown(figures, "fundingRate", formatRate)}/h (${shown(figures, "annualizedFundingRate", formatRate)}/year)${who}`,
      ];
    });
  const paid = wallets.map(({ name, figures }): Line => {
    return [`${name}:`, `today ${shown(figures, "fundingToday", formatUsd)}; positive: received`];
  });
  const unsettled = positionsOf(wallets)
    .filter(({ figures }) => figures.unsettledFunding !== undefined)
    .map(({ name, figures }): Line => [name, `unsettled ${shown(figures, "unsettledFunding", formatUsd)}`]);
  return { title: "Funding", lines: [...markets, ...paid, ...unsettled] };
}

export function pnlAnswer(status: DaemonStatus, wallet: string): Answer {
  const wallets = walletsNamed(status, wallet);
  if (isAnswer(wallets)) return wallets;
  const lines = wallets.map(({ name, figures, accounts, seenMs }): Line => {
    const open = accounts
      .map((account) => account.figures.unrealizedPnl)
      .filter((one) => typeof one === "number");
    const unrealized =
      open.length === accounts.length ? formatUsd(open.reduce((sum, one) => sum + one, 0)) : absentText;
    return [
      `${name}:`,
      [
        `equity ${shown(figures, "equity", formatUsd)}`,
        `today ${shown(figures, "pnlToday", formatUsd)}`,
        `since watched ${shown(figures, "pnl", formatUsd)}`,
        `unrealized ${unrealized}`,
        ageOf(seenMs, status.watch.atMs),
      ].join(" · "),
    ];
  });
  return { title: "Profit and loss", lines };
}

export function rulesAnswer({ watch }: DaemonStatus): Answer {
  const firing = (rule: string) => watch.firing.filter((one) => one.rule === rule).length;
  const lines = watch.ruleStates.map(({ rule, mode, ok, noData, error }): Line => {
    const parts = [
      `judges ${ok}`,
      ...(noData > 0 ? [`${noData} without data`] : []),
      ...(error > 0 ? [`${error} fail`] : []),
      ...(firing(rule) > 0 ? [`${firing(rule)} firing`] : []),
      ...(mode === "shadow" ? ["in shadow mode: sends nothing"] : []),
    ];
    return [rule, parts.join(" · ")];
  });
  return { title: counted(watch.rules, "rule"), lines };
}

/** The history of an alert: its state, changes, and deliveries. */
export function storyAnswer({ alert, changes, messages }: AlertStory, timezone: string): Answer {
  const lines: Line[] = [
    [
      `${glyphs[alert.severity]} ${alert.state === "firing" ? "Firing" : alert.event ? "Happened" : "Over"}:`,
      ownLine(alert.summary),
    ],
    ["Rule:", `${alert.rule}, about ${alert.subject}`],
    ["As of:", formatTime(alert.dataAtMs, timezone)],
  ];
  const details = changes.at(-1)?.details ?? [];
  if (details.length > 0)
    lines.push([
      "Figures:",
      details.map(([name, value]) => `${cleanLine(name)}: ${cleanLine(value)}`).join(" · "),
    ]);
  if (alert.acknowledgedBy !== null) {
    const when = alert.acknowledgedAtMs === null ? "" : `, ${formatTime(alert.acknowledgedAtMs, timezone)}`;
    lines.push(["Acknowledged:", `by ${cleanLine(alert.acknowledgedBy)}${when}`]);
  }
  for (const change of changes.slice(-20)) lines.push([formatTime(change.atMs, timezone), leadOf(change)]);
  for (const message of messages.slice(-10)) {
    const what =
      message.deliveredAtMs === null
        ? `${message.status}${message.lastDetail === null ? "" : `: ${message.lastDetail}`}`
        : `delivered ${formatTime(message.deliveredAtMs, timezone)}`;
    lines.push([`To ${message.receiver}:`, what]);
  }
  return { title: `Alert #${alert.id}`, lines, tone: alert.severity };
}

export function acknowledgedAnswer(
  id: number,
  done: Awaited<ReturnType<Actions["acknowledgeAlert"]>>,
  alert: Alert | null,
  timezone: string,
): Answer {
  switch (done) {
    case "done":
      return {
        ...note(`Acknowledged #${id}. You are notified if it gets worse, and when it ends.`),
        tone: "good",
        changed: true,
      };
    case "already": {
      const when = alert?.acknowledgedAtMs == null ? "" : `, ${formatTime(alert.acknowledgedAtMs, timezone)}`;
      const by = alert?.acknowledgedBy == null ? "" : ` by ${cleanLine(alert.acknowledgedBy)}${when}`;
      return note(`#${id} is acknowledged already${by}.`);
    }
    case "ended":
      return note(`#${id} is over; there is nothing to acknowledge.`);
    case "unknown":
      return note(`There is no alert #${id}.`);
    case "rose":
      return note(
        `#${id} is ${alert?.severity ?? "worse"} by now, and the message showed less. Nothing was acknowledged: look at the newest message.`,
      );
  }
}

/** @param rose alerts whose level is now higher than the message showed; they were not acknowledged */
export function allAcknowledgedAnswer(done: readonly number[], rose: readonly number[]): Answer {
  const named = (ids: readonly number[]) => ids.map((id) => `#${id}`).join(", ");
  const lines = [
    done.length === 0
      ? "Nothing of this message is left to acknowledge."
      : `Acknowledged ${named(done)}, as the message showed them. You are notified if one gets worse.`,
    ...(rose.length === 0 ? [] : [`Not ${named(rose)}: worse by now. Look at the newest message.`]),
  ];
  return {
    ...note(lines.join(" ")),
    ...(done.length > 0 && rose.length === 0 ? { tone: "good" as const } : {}),
    ...(done.length > 0 ? { changed: true as const } : {}),
  };
}

/** @param holding number of firing alerts that the silence holds; null: the silence existed before */
export function silencedAnswer(silence: Silence, holding: number | null, timezone: string): Answer {
  const { id, upTo, author, endsMs, match } = silence;
  const until = formatTime(endsMs, timezone);
  const what = Object.entries(match)
    .map(([name, one]) => `${name}${matcherText(one)}`)
    .join(" ");
  const first =
    holding === null
      ? `Silent already until ${until}, by ${cleanLine(author)} (silence ${id}).`
      : `Silent until ${until} (silence ${id}).`;
  const lines: Line[] = [
    first,
    `It holds back ${what || "everything"}, up to ${upTo}: anything worse is sent.`,
  ];
  if (holding !== null) lines.push(`It holds back ${holding} of the alerts that fire now.`);
  return { title: "", lines, tone: "good", ...(holding === null ? {} : { changed: true }) };
}

function matcherText(one: Matcher): string {
  if ("in" in one) return `=${one.in.join(",")}`;
  if ("notIn" in one) return `!=${one.notIn.join(",")}`;
  return "matches" in one ? `=~${one.matches}` : `!~${one.notMatches}`;
}

function worstFirst<A extends Alert>(alerts: readonly A[]): A[] {
  return [...alerts].sort(
    (a, b) => severityRank[b.severity] - severityRank[a.severity] || a.firedAtMs - b.firedAtMs,
  );
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
