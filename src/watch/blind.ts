/**
 * What cannot be seen. All blind rules of one wallet and source are one alert, `Blind`; when more than a few wallets are
 * blind they are one alert, `ExchangeUnreachable`, which holds the `Blind` ones back. Sources that no wallet owns
 * (prices, configuration, status) belong to the exchange.
 */

import { type Severity, severityRank } from "../domain/alert.ts";
import type { BuiltInRule } from "../domain/built-in.ts";
import type { FailedRead } from "../domain/changes.ts";
import { formatDurationMs } from "../domain/duration.ts";
import { exchangeSources, marketSources, type Source } from "../domain/observation.ts";
import { sourceWords } from "../domain/source-words.ts";
import type { BlindSource } from "../domain/status.ts";
import type { Subject } from "../domain/subject.ts";
import { formatTime, timeOfDay } from "../domain/time-text.ts";
import type { Unknown } from "../rules/index.ts";
import type { AlertBook, AlertText, LiveAlert, NewAlert } from "./alert-book.ts";
import { DarkTime, darkWindowMs } from "./dark-time.ts";
import type { Deadlines, Due } from "./deadlines.ts";
import type { Draft } from "./draft.ts";
import { blindForMs, blindWalletsFold, type WatchedWallet } from "./settings.ts";
import { Trickles } from "./trickles.ts";

export const blindRule = "Blind" satisfies BuiltInRule;
export const unreachableRule = "ExchangeUnreachable" satisfies BuiltInRule;

/** No wallet owns these: what is blind by one of them is one alert. */
const ofTheExchange: ReadonlySet<BlindSource> = new Set<BlindSource>(["configuration", ...exchangeSources]);
/** What is missing of these may be on its way: they are read one after the other, or once somebody needs them. */
const byMarket: ReadonlySet<BlindSource> = marketSources;

const configurationKey = keyOf("configuration", null);
/** By then every rule was judged by something. */
const mendedAfterMs = 120_000;

/** An alert falls when for so long only lesser rules were blind: those that see again come one after the other. */
const fallsAfterMs = 30_000;

/** From this age on a time is told with its date. */
const dateFromMs = 12 * 3_600_000;

/** What can be blind: a rule that judges a subject, or one whose subjects cannot even be known (vigils.ts). */
export interface Sighted {
  readonly rule: {
    readonly name: string;
    readonly noData: "alert" | "keep";
    readonly levels: readonly { readonly severity: Severity }[];
    readonly reads: readonly { readonly sources: readonly Source[]; readonly symbol?: string | null }[];
    readonly staleAfterMs: Readonly<Record<Source, number>>;
  };
  readonly node: { readonly subject: Subject };
  /** Why it cannot be judged now; null: it can. */
  readonly unknown: Unknown | null;
}

/** @param symbols of which markets, where the source is read market by market; none: of any */
type LastSeen = (source: Source, wallet: string | null, symbols?: readonly string[]) => number | null;

interface Dark extends Due {
  readonly key: string;
  readonly wallet: string | null;
  readonly source: BlindSource;
  readonly instances: Set<Sighted>;
  /** Since when something of it cannot be judged, ms. */
  readonly sinceMs: number;
  /** From when on it counts as blind, ms: at a start the first round of readings takes its time. */
  countsFromMs: number;
  /** When it answered last while it was dark, ms: a part of it may still be missing. */
  answeredMs: number | null;
  alert: LiveAlert | null;
}

export class Blindness {
  readonly #alerts: AlertBook;
  readonly #deadlines: Deadlines;
  readonly #draft: () => Draft;
  readonly #wallet: (name: string) => WatchedWallet | undefined;
  readonly #lastSeenMs: LastSeen;
  readonly #dark = new Map<string, Dark>();
  readonly #keyOf = new Map<Sighted, string>();
  readonly #darkTime = new DarkTime();
  readonly #trickles: Trickles;
  /** When the last alert of each key ended, ms. */
  readonly #endedMs = new Map<string, number>();
  /** How many sources of a wallet are dark. */
  readonly #darkWallets = new Map<string, number>();
  /** Wallets of which nothing was seen since the start. */
  readonly #unseen: Set<string>;
  readonly #startedMs: number;
  readonly #timezone: string;
  readonly #restored = new Map<string, LiveAlert>();
  readonly #failures = new Map<string, FailedRead>();
  #unreachable: LiveAlert | null = null;
  /** No source tells that the configuration was mended: it is when no rule says otherwise for a while. */
  readonly #mended: Due = {
    dueMs: Number.POSITIVE_INFINITY,
    queuedMs: Number.POSITIVE_INFINITY,
    place: -1,
    onDue: () => {
      const live = this.#restored.get(configurationKey);
      this.#restored.delete(configurationKey);
      if (live) this.#alerts.end(this.#draft(), live, "recovered", null);
    },
  };

  constructor(options: {
    alerts: AlertBook;
    deadlines: Deadlines;
    draft: () => Draft;
    wallet: (name: string) => WatchedWallet | undefined;
    lastSeenMs: LastSeen;
    wallets: readonly WatchedWallet[];
    startedMs: number;
    /** Of times in texts. */
    timezone: string;
  }) {
    this.#timezone = options.timezone;
    this.#unseen = new Set(options.wallets.map((one) => one.name));
    this.#startedMs = options.startedMs;
    this.#alerts = options.alerts;
    this.#deadlines = options.deadlines;
    this.#trickles = new Trickles(options.deadlines);
    this.#draft = options.draft;
    this.#wallet = options.wallet;
    this.#lastSeenMs = options.lastSeenMs;
  }

  /** Takes back an alert that stood when the daemon stopped: it ends when its wallet is seen, or goes on. */
  restore(live: LiveAlert): void {
    if (live.alert.rule === unreachableRule) this.#unreachable = live;
    else {
      const key = `${live.alert.wallet ?? ""}\n${live.alert.labels.source ?? ""}`;
      this.#restored.set(key, live);
      if (key === configurationKey) this.#deadlines.set(this.#mended, this.#startedMs + mendedAfterMs);
    }
  }

  list(): { wallet: string | null; source: BlindSource; sinceMs: number; rules: string[] }[] {
    return [...this.#dark.values()].map((dark) => ({
      wallet: dark.wallet,
      source: dark.source,
      sinceMs: dark.sinceMs,
      rules: [...new Set([...dark.instances].map((instance) => instance.rule.name))].sort(),
    }));
  }

  get blindWallets(): number {
    return this.#walletsInTheDark(this.#draft().atMs).size;
  }

  /** Why reads of a source fail; shown with what is blind because of it. */
  failed(failure: FailedRead): void {
    this.#failures.set(keyOf(failure.source, failure.wallet), failure);
  }

  /** A source answered: an alert that was taken back from history and blinds no rule any more ends. */
  seen(source: Source, wallet: string | null, draft: Draft): void {
    // Nearly always there is nothing that an answer could end.
    const nothing = this.#failures.size === 0 && this.#dark.size === 0 && this.#restored.size === 0;
    const key = nothing ? "" : keyOf(source, wallet);
    this.#failures.delete(key);
    const dark = this.#dark.get(key);
    if (dark) dark.answeredMs = draft.atMs;
    if (source === "traderState" && wallet !== null && this.#unseen.delete(wallet)) this.#fold(draft);
    const restored = this.#restored.get(key);
    if (restored && !dark) {
      this.#restored.delete(key);
      this.#alerts.end(draft, restored, "recovered", this.#seenAgain(restored, source, wallet, draft.atMs));
      this.#fold(draft);
    }
  }

  /** A judgement turned unknown, known again, or unknown for another reason. */
  note(instance: Sighted, draft: Draft): void {
    const before = this.#keyOf.get(instance);
    const source = blindSource(instance.unknown);
    const cause = instance.unknown?.unknown;
    const unseen = cause === "stale" || cause === "missing" || cause === "absent" || cause === "unset";
    const blind = instance.rule.noData === "alert" && source !== null && unseen;
    const wallet =
      instance.unknown?.wallet ?? ("wallet" in instance.node.subject ? instance.node.subject.wallet : null);
    const key = blind ? keyOf(source, ofTheExchange.has(source) ? null : wallet) : undefined;
    if (before === key) return;
    if (before !== undefined) this.#leave(before, instance, draft);
    if (key !== undefined && source !== null) this.#enter(key, source, wallet, instance, draft);
  }

  #enter(key: string, source: BlindSource, wallet: string | null, instance: Sighted, draft: Draft): void {
    this.#keyOf.set(instance, key);
    const countsFromMs = this.#countsFromMs(instance, source, draft);
    const known = this.#dark.get(key);
    if (known) {
      known.instances.add(instance);
      this.#raise(known, instance, draft);
      if (countsFromMs >= known.countsFromMs) return;
      known.countsFromMs = countsFromMs;
      if (!known.alert) this.#deadlines.set(known, countsFromMs + this.#untilReported(known, countsFromMs));
      return;
    }
    const restored = this.#restored.get(key) ?? this.#trickles.get(key)?.live ?? null;
    this.#restored.delete(key);
    const dark: Dark = {
      key,
      wallet: ofTheExchange.has(source) ? null : wallet,
      source,
      instances: new Set([instance]),
      sinceMs: draft.atMs,
      countsFromMs,
      answeredMs: null,
      alert: restored,
      dueMs: Number.POSITIVE_INFINITY,
      queuedMs: Number.POSITIVE_INFINITY,
      place: -1,
      onDue: () => (dark.alert ? this.#fall(dark, dark.alert) : this.#fire(dark)),
    };
    this.#dark.set(key, dark);
    if (restored) {
      this.#follow(dark, restored);
      this.#raise(dark, instance, draft);
      this.#deadlines.set(dark, draft.atMs + fallsAfterMs);
    }
    this.#countDark(dark.wallet, 1);
    if (restored && this.#unreachable && dark.wallet !== null) this.#alerts.hold(draft, restored, true);
    if (!restored) this.#deadlines.set(dark, countsFromMs + this.#untilReported(dark, countsFromMs));
    if (this.#trickles.leave(key)) this.#countDark(dark.wallet, -1);
  }

  /** How much longer it has to be dark until it is reported, ms: 30 s of the last two minutes, and since its last alert. */
  #untilReported({ key, countsFromMs }: Dark, nowMs: number): number {
    const fromMs = Math.max(nowMs - darkWindowMs, this.#endedMs.get(key) ?? Number.NEGATIVE_INFINITY);
    const darkMs =
      this.#darkTime.within(key, fromMs, nowMs) + Math.max(0, nowMs - Math.max(countsFromMs, fromMs));
    return Math.max(0, blindForMs - darkMs);
  }

  /**
   * What was seen and is too old counts at once. What is missing after a start may still be on its way: the first round
   * over many wallets takes long, and some figures need two readings.
   */
  #countsFromMs(instance: Sighted, source: BlindSource, draft: Draft): number {
    if (instance.unknown?.unknown !== "missing" || (ofTheExchange.has(source) && !byMarket.has(source)))
      return draft.atMs;
    let graceMs = 0;
    for (const read of instance.rule.reads) {
      for (const one of read.sources) {
        if (!ofTheExchange.has(one) || byMarket.has(one))
          graceMs = Math.max(graceMs, instance.rule.staleAfterMs[one]);
      }
    }
    return Math.max(draft.atMs, this.#startedMs + graceMs);
  }

  #leave(key: string, instance: Sighted, draft: Draft): void {
    this.#keyOf.delete(instance);
    const dark = this.#dark.get(key);
    if (!dark?.instances.delete(instance)) return;
    if (dark.instances.size > 0) {
      if (dark.alert && severityRank[worstOf(dark)] < severityRank[dark.alert.alert.severity])
        this.#deadlines.set(dark, draft.atMs + fallsAfterMs);
      return;
    }
    this.#dark.delete(key);
    this.#deadlines.cancel(dark);
    this.#darkTime.add(key, dark.countsFromMs, draft.atMs);
    const end = (into: Draft): void => {
      this.#countDark(dark.wallet, -1);
      if (dark.alert) {
        this.#endedMs.set(key, into.atMs);
        const text = this.#seenAgain(dark.alert, dark.source, dark.wallet, dark.answeredMs);
        this.#alerts.end(into, dark.alert, "recovered", text);
      }
      this.#fold(into);
    };
    // Single answers do not end it: it would fire again soon after each of them.
    const calmMs = this.#darkTime.calmMs(key, blindForMs);
    const before = this.#darkTime.within(key, draft.atMs - darkWindowMs, dark.countsFromMs) > 0;
    if (!before || calmMs <= draft.atMs || !(dark.alert || this.#unreachable)) end(draft);
    else
      this.#trickles.begin(key, { wallet: dark.wallet, live: dark.alert }, calmMs, () => end(this.#draft()));
  }

  #countDark(wallet: string | null, by: number): void {
    if (wallet === null) return;
    const count = (this.#darkWallets.get(wallet) ?? 0) + by;
    if (count > 0) this.#darkWallets.set(wallet, count);
    else this.#darkWallets.delete(wallet);
  }

  #fire(dark: Dark): void {
    const draft = this.#draft();
    if (this.#dark.get(dark.key) !== dark || dark.alert) return;
    const restMs = this.#untilReported(dark, draft.atMs);
    if (restMs > 0) {
      // Earlier spells are no longer among the last two minutes.
      this.#deadlines.set(dark, draft.atMs + restMs);
      return;
    }
    const fold =
      this.#unreachable !== null ||
      this.#walletsInTheDark(draft.atMs, blindWalletsFold + 1).size > blindWalletsFold;
    if (fold && !this.#unreachable) this.#fireUnreachable(draft);
    if (fold && dark.wallet !== null) {
      // Stays pending; told when the fold ends and it is still dark.
      this.#deadlines.set(dark, draft.atMs + blindForMs);
      return;
    }
    dark.alert = this.#alerts.fire(draft, this.#textOf(dark, draft.atMs));
    this.#follow(dark, dark.alert);
  }

  /** A rule that can be worse than what was told of makes it worse. */
  #raise(dark: Dark, { rule }: Sighted, draft: Draft): void {
    const { alert } = dark;
    const severity = rule.levels.at(-1)?.severity ?? "info";
    if (!alert || severityRank[severity] <= severityRank[alert.alert.severity]) return;
    this.#alerts.change(draft, alert, "rose", severity, this.#textOf(dark, draft.atMs));
  }

  /** The worst of the rules that are blind is not as bad as what was told of. */
  #fall(dark: Dark, live: LiveAlert): void {
    this.#deadlines.cancel(dark);
    const severity = worstOf(dark);
    if (this.#dark.get(dark.key) !== dark || severityRank[severity] >= severityRank[live.alert.severity])
      return;
    const draft = this.#draft();
    this.#alerts.change(draft, live, "fell", severity, this.#textOf(dark, draft.atMs));
  }

  /** Lets an alert speak of now while it is dark. */
  #follow(dark: Dark, live: LiveAlert): void {
    live.textNow = (nowMs) => (this.#dark.get(dark.key) === dark ? this.#textOf(dark, nowMs) : null);
  }

  /** What the end says; null where nothing was seen, and only nobody needs it any more. */
  #seenAgain(
    live: LiveAlert,
    source: BlindSource,
    wallet: string | null,
    answeredMs: number | null,
  ): AlertText | null {
    if (source === "configuration") return null;
    const seenMs = Math.max(answeredMs ?? 0, this.#lastSeenMs(source, wallet) ?? 0);
    const { sinceMs } = live.alert;
    if (seenMs <= sinceMs) return null;
    const what = sourceWords[source];
    const from = wallet === null ? "from the exchange" : `of wallet ${wallet}`;
    return {
      summary: `Seen again: ${what} ${from}, after ${formatDurationMs(seenMs - sinceMs)}`,
      description: live.alert.description,
      value: null,
      dataAtMs: seenMs,
      details: [
        ["Not seen from", formatTime(sinceMs, this.#timezone)],
        ["Until", formatTime(seenMs, this.#timezone)],
      ],
    };
  }

  /** Ends the common alert when few enough are left; those tell for themselves from then on. */
  #fold(draft: Draft): void {
    if (!this.#unreachable || this.#darkWallets.size > blindWalletsFold) return;
    let blind = this.#darkWallets.size;
    for (const wallet of this.#unseen) {
      if (!this.#darkWallets.has(wallet) && ++blind > blindWalletsFold) return;
    }
    const { alert } = this.#unreachable;
    const dark = [...this.#darkWallets.keys()].sort();
    this.#alerts.end(draft, this.#unreachable, "recovered", {
      summary: `The exchange answers again, after ${formatDurationMs(draft.atMs - alert.firedAtMs)}`,
      description: alert.description,
      value: dark.length,
      dataAtMs: draft.atMs,
      details: dark.length === 0 ? [] : [["Not seen again yet", listed(dark)]],
    });
    this.#unreachable = null;
    for (const dark of this.#dark.values()) if (dark.alert) this.#alerts.hold(draft, dark.alert, false);
    for (const { live } of this.#trickles.all) if (live) this.#alerts.hold(draft, live, false);
  }

  #fireUnreachable(draft: Draft): void {
    const wallets = [...this.#walletsInTheDark(draft.atMs)].sort();
    for (const { alert, wallet } of this.#dark.values())
      if (alert && wallet !== null) this.#alerts.hold(draft, alert, true);
    for (const { live, wallet } of this.#trickles.all)
      if (live && wallet !== null) this.#alerts.hold(draft, live, true);
    this.#unreachable = this.#alerts.fire(draft, {
      rule: unreachableRule,
      subject: "exchange",
      wallet: null,
      symbol: null,
      labels: {},
      severity: "critical",
      sinceMs: draft.atMs,
      alreadySo: false,
      runbook: null,
      happenedMs: null,
      summary: `Blind on ${wallets.length} wallets: the exchange does not answer`,
      description: `None of these can be judged: ${listed(wallets)}. Alerts that depend on them can neither fire nor resolve until the exchange answers. Check the network of this machine and the exchange's status.`,
      value: wallets.length,
      // Nothing of them was seen since.
      dataAtMs: Math.min(
        draft.atMs,
        ...wallets.map((name) => this.#lastSeenMs("traderState", name) ?? this.#startedMs),
      ),
      details: [],
    });
  }

  /** @param most as soon as that many are found, the others are not looked for */
  #walletsInTheDark(nowMs: number, most = Number.POSITIVE_INFINITY): Set<string> {
    const wallets = new Set<string>();
    for (const dark of this.#dark.values()) {
      if (dark.wallet !== null && (dark.alert || dark.countsFromMs <= nowMs)) wallets.add(dark.wallet);
      if (wallets.size >= most) break;
    }
    return wallets;
  }

  /** With its date where that is not plain. */
  #time(ms: number, nowMs: number): string {
    return (nowMs - ms > dateFromMs ? formatTime : timeOfDay)(ms, this.#timezone);
  }

  #textOf(dark: Dark, nowMs: number): NewAlert {
    const rules = [...new Set([...dark.instances].map((instance) => instance.rule.name))].sort();
    const severity = worstOf(dark);
    const own = {
      rule: blindRule,
      severity,
      symbol: null,
      alreadySo: false,
      runbook: null,
      happenedMs: null,
      value: null,
    };
    if (dark.source === "configuration") {
      const causes = [...new Set([...dark.instances].map(({ unknown }) => unknown?.detail ?? ""))].sort();
      const wallets = new Set(
        [...dark.instances].flatMap(({ node }) => ("wallet" in node.subject ? [node.subject.wallet] : [])),
      );
      const details: (readonly [string, string])[] = [["Rules that cannot judge", listed(rules)]];
      if (wallets.size > 0) details.push(["Wallets", listed([...wallets].sort())]);
      return {
        ...own,
        subject: "daemon",
        wallet: null,
        labels: { source: dark.source },
        sinceMs: dark.sinceMs,
        summary: `Blind: ${listed(causes)}`.slice(0, 300),
        description:
          "What these rules name is not there, so they can never fire. Mend the rules or the configuration.",
        dataAtMs: nowMs,
        details,
      };
    }
    const symbols = marketsOf(dark);
    const seenMs = this.#lastSeenMs(dark.source, dark.wallet, symbols);
    const failure = this.#failures.get(dark.key);
    const words = sourceWords[dark.source];
    const what = symbols.length === 0 ? words : `${words} of ${listed(symbols)}`;
    // Both, since a time stays true however late it is read.
    const lasted = formatDurationMs(nowMs - (seenMs ?? this.#startedMs));
    const since = seenMs === null ? "ever since the start" : `since ${this.#time(seenMs, nowMs)}`;
    const details: (readonly [string, string])[] = [
      ["Not seen", `${what} (schedule ${dark.source})`],
      ["Last seen", seenMs === null ? "never" : formatTime(seenMs, this.#timezone)],
      ["Rules that cannot judge", listed(rules)],
    ];
    if (failure) details.push(["Last failure", `${failure.reason}: ${failure.detail}`]);
    return {
      ...own,
      subject: dark.wallet ?? "exchange",
      wallet: dark.wallet,
      labels: {
        ...(dark.wallet === null ? {} : this.#wallet(dark.wallet)?.labels),
        source: dark.source,
      },
      sinceMs: seenMs ?? dark.sinceMs,
      summary:
        dark.wallet === null
          ? `Blind for ${lasted}: no ${what} from the exchange ${since}`
          : `Blind on wallet ${dark.wallet} for ${lasted}: no ${what} ${since}`,
      description:
        "Nothing that these rules watch can be judged: they can neither fire nor resolve. Look at the exchange itself if you hold risk there.",
      dataAtMs: seenMs ?? this.#startedMs,
      details,
    };
  }
}

/** The markets of which nothing is seen, where a source is read market by market and may go on with others. */
function marketsOf({ source, instances }: Dark): readonly string[] {
  const symbols = new Set<string>();
  if (!byMarket.has(source)) return [];
  for (const { rule, node, unknown } of instances) {
    if (unknown === null) continue;
    const own = "symbol" in node.subject ? node.subject.symbol : null;
    for (const { sources, symbol } of rule.reads) {
      const of = symbol ?? own;
      if (of !== null && sources.some((one) => one === source)) symbols.add(of.toUpperCase());
    }
  }
  return [...symbols].sort();
}

/** The severity of the worst rule that is blind; nothing is less than a warning. */
function worstOf({ instances }: Dark): Severity {
  let worst: Severity = "warning";
  for (const { rule } of instances) {
    const severity = rule.levels.at(-1)?.severity ?? "info";
    if (severityRank[severity] > severityRank[worst]) worst = severity;
  }
  return worst;
}

/** What cannot be seen, or is named by the configuration and not there. Null: nothing that anybody could bring. */
function blindSource(unknown: Unknown | null): BlindSource | null {
  return unknown?.unknown === "unset" ? "configuration" : (unknown?.source ?? null);
}

function keyOf(source: BlindSource, wallet: string | null): string {
  return `${ofTheExchange.has(source) ? "" : (wallet ?? "")}\n${source}`;
}

function listed(names: readonly string[]): string {
  return names.length <= 10
    ? names.join(", ")
    : `${names.slice(0, 10).join(", ")} and ${names.length - 10} more`;
}
