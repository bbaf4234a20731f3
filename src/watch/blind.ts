/**
 * What cannot be seen. All blind rules of one wallet and source are one alert, `Blind`; when more than a few wallets are
 * blind they are one alert, `ExchangeUnreachable`, which holds the `Blind` ones back. Sources that no wallet owns
 * (prices, configuration, status) belong to the exchange.
 */
import { type Severity, severityRank } from "../domain/alert.ts";
import type { FailedRead } from "../domain/changes.ts";
import { formatDurationMs } from "../domain/duration.ts";
import type { Source } from "../domain/observation.ts";
import type { AlertBook, LiveAlert, NewAlert } from "./alert-book.ts";
import type { Deadlines, Due } from "./deadlines.ts";
import type { Draft } from "./draft.ts";
import type { Instance } from "./instance.ts";
import { blindForMs, blindWalletsFold, type WatchedWallet } from "./settings.ts";

export const blindRule = "Blind";
export const unreachableRule = "ExchangeUnreachable";

const ofTheExchange: ReadonlySet<Source> = new Set([
  "markets",
  "marketConfig",
  "fundingRates",
  "exchangeStatus",
]);

interface Dark extends Due {
  readonly key: string;
  readonly wallet: string | null;
  readonly source: Source;
  readonly instances: Set<Instance>;
  /** Since when something of it cannot be judged, ms. */
  readonly sinceMs: number;
  alert: LiveAlert | null;
}

export class Blindness {
  readonly #alerts: AlertBook;
  readonly #deadlines: Deadlines;
  readonly #draft: () => Draft;
  readonly #wallet: (name: string) => WatchedWallet | undefined;
  readonly #lastSeenMs: (source: Source, wallet: string | null) => number | null;
  readonly #dark = new Map<string, Dark>();
  readonly #keyOf = new Map<Instance, string>();
  readonly #restored = new Map<string, LiveAlert>();
  readonly #failures = new Map<string, FailedRead>();
  #unreachable: LiveAlert | null = null;

  constructor(options: {
    alerts: AlertBook;
    deadlines: Deadlines;
    draft: () => Draft;
    wallet: (name: string) => WatchedWallet | undefined;
    lastSeenMs: (source: Source, wallet: string | null) => number | null;
  }) {
    this.#alerts = options.alerts;
    this.#deadlines = options.deadlines;
    this.#draft = options.draft;
    this.#wallet = options.wallet;
    this.#lastSeenMs = options.lastSeenMs;
  }

  /** Takes back an alert that stood when the daemon stopped: it ends when its wallet is seen, or goes on. */
  restore(live: LiveAlert): void {
    if (live.alert.rule === unreachableRule) this.#unreachable = live;
    else this.#restored.set(`${live.alert.wallet ?? ""}\n${live.alert.labels.source ?? ""}`, live);
  }

  list(): { wallet: string | null; source: Source; sinceMs: number; rules: string[] }[] {
    return [...this.#dark.values()].map((dark) => ({
      wallet: dark.wallet,
      source: dark.source,
      sinceMs: dark.sinceMs,
      rules: [...new Set([...dark.instances].map((instance) => instance.rule.name))].sort(),
    }));
  }

  get blindWallets(): number {
    return this.#walletsInTheDark().size;
  }

  /** Why reads of a source fail; shown with what is blind because of it. */
  failed(failure: FailedRead): void {
    this.#failures.set(keyOf(failure.source, failure.wallet), failure);
  }

  /** A source answered: an alert that was taken back from history and blinds no rule any more ends. */
  seen(source: Source, wallet: string | null, draft: Draft): void {
    const key = keyOf(source, wallet);
    this.#failures.delete(key);
    const restored = this.#restored.get(key);
    if (restored && !this.#dark.has(key)) {
      this.#restored.delete(key);
      this.#alerts.end(draft, restored, "recovered", null);
      this.#fold(draft);
    }
  }

  /** A judgement turned unknown, known again, or unknown for another reason. */
  note(instance: Instance, draft: Draft): void {
    const before = this.#keyOf.get(instance);
    const source = instance.unknown?.source ?? null;
    const cause = instance.unknown?.unknown;
    const blind =
      instance.rule.noData === "alert" && source !== null && (cause === "stale" || cause === "missing");
    const wallet = "wallet" in instance.node.subject ? instance.node.subject.wallet : null;
    const key = blind ? keyOf(source, ofTheExchange.has(source) ? null : wallet) : undefined;
    if (before === key) return;
    if (before !== undefined) this.#leave(before, instance, draft);
    if (key !== undefined && source !== null) this.#enter(key, source, wallet, instance, draft);
  }

  #enter(key: string, source: Source, wallet: string | null, instance: Instance, draft: Draft): void {
    this.#keyOf.set(instance, key);
    const known = this.#dark.get(key);
    if (known) {
      known.instances.add(instance);
      return;
    }
    const restored = this.#restored.get(key) ?? null;
    this.#restored.delete(key);
    const dark: Dark = {
      key,
      wallet: ofTheExchange.has(source) ? null : wallet,
      source,
      instances: new Set([instance]),
      sinceMs: draft.atMs,
      alert: restored,
      dueMs: Number.POSITIVE_INFINITY,
      queuedMs: Number.POSITIVE_INFINITY,
      onDue: () => this.#fire(dark),
    };
    this.#dark.set(key, dark);
    if (!restored) this.#deadlines.set(dark, draft.atMs + blindForMs);
  }

  #leave(key: string, instance: Instance, draft: Draft): void {
    this.#keyOf.delete(instance);
    const dark = this.#dark.get(key);
    if (!dark?.instances.delete(instance) || dark.instances.size > 0) return;
    this.#dark.delete(key);
    this.#deadlines.cancel(dark);
    if (dark.alert) this.#alerts.end(draft, dark.alert, "recovered", null);
    this.#fold(draft);
  }

  #fire(dark: Dark): void {
    const draft = this.#draft();
    if (this.#dark.get(dark.key) !== dark || dark.alert) return;
    const fold = this.#walletsInTheDark().size > blindWalletsFold;
    const text = this.#textOf(dark, draft.atMs);
    if (fold && !this.#unreachable) this.#fireUnreachable(draft);
    if (fold && dark.wallet !== null) {
      // Stays pending; told when the fold ends and it is still dark.
      this.#deadlines.set(dark, draft.atMs + blindForMs);
      return;
    }
    dark.alert = this.#alerts.fire(draft, text);
  }

  /** Ends the common alert when few enough are left; those tell for themselves from then on. */
  #fold(draft: Draft): void {
    if (!this.#unreachable || this.#walletsInTheDark().size > blindWalletsFold) return;
    this.#alerts.end(draft, this.#unreachable, "recovered", null);
    this.#unreachable = null;
  }

  #fireUnreachable(draft: Draft): void {
    const wallets = [...this.#walletsInTheDark()].sort();
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
      dataAtMs: draft.atMs,
      details: [],
    });
  }

  #walletsInTheDark(): Set<string> {
    const wallets = new Set<string>();
    for (const dark of this.#dark.values()) if (dark.wallet !== null) wallets.add(dark.wallet);
    return wallets;
  }

  #textOf(dark: Dark, nowMs: number): NewAlert {
    const rules = [...new Set([...dark.instances].map((instance) => instance.rule.name))].sort();
    const severity = [...dark.instances]
      .map((instance) => instance.rule.levels.at(-1)?.severity ?? "info")
      .reduce<Severity>((worst, one) => (severityRank[one] > severityRank[worst] ? one : worst), "warning");
    const seenMs = this.#lastSeenMs(dark.source, dark.wallet);
    const failure = this.#failures.get(dark.key);
    const on = dark.wallet === null ? "the exchange" : `wallet ${dark.wallet}`;
    const lasting = seenMs === null ? "since the start" : `for ${formatDurationMs(nowMs - seenMs)}`;
    const details: (readonly [string, string])[] = [
      ["Source", dark.source],
      ["Last seen", seenMs === null ? "never" : new Date(seenMs).toISOString()],
      ["Rules that cannot judge", listed(rules)],
    ];
    if (failure) details.push(["Last failure", `${failure.reason}: ${failure.detail}`]);
    return {
      rule: blindRule,
      subject: dark.wallet ?? "exchange",
      wallet: dark.wallet,
      symbol: null,
      labels: {
        ...(dark.wallet === null ? {} : this.#wallet(dark.wallet)?.labels),
        source: dark.source,
      },
      severity,
      sinceMs: seenMs ?? dark.sinceMs,
      alreadySo: false,
      runbook: null,
      happenedMs: null,
      summary: `Blind on ${on} ${lasting}: no ${dark.source}`,
      description:
        "Nothing that these rules watch can be judged: they can neither fire nor resolve. Look at the exchange itself if you hold risk there.",
      value: null,
      dataAtMs: seenMs ?? nowMs,
      details,
    };
  }
}

function keyOf(source: Source, wallet: string | null): string {
  return `${ofTheExchange.has(source) ? "" : (wallet ?? "")}\n${source}`;
}

function listed(names: readonly string[]): string {
  return names.length <= 10
    ? names.join(", ")
    : `${names.slice(0, 10).join(", ")} and ${names.length - 10} more`;
}
