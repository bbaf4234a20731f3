/**
 * Plays a test: its series, events, failures and restarts in the order of their times, with the deadlines in between.
 */
import type { Figure, InjectedFigures } from "../../domain/observation.ts";
import { exchangeSources, type Source } from "../../domain/sources.ts";
import { accountName, parseSubject } from "../../domain/subject.ts";
import { eventSources, type RuleEventKind, type RuleSet } from "../../rules/index.ts";
import type { Replay } from "../replay.ts";
import type { Step } from "./notation.ts";
import type { Expectation, RuleTest, Suite, TestSeries } from "./suite.ts";

/** The length of a test that does not state one, ms. */
const defaultLengthMs = 600_000;

/** The last value of a subject's field, shown when a test fails. */
export interface LastFigure {
  readonly value: Figure;
  readonly atMs: number;
}

export interface PlayOptions {
  readonly suite: Suite;
  readonly test: RuleTest;
  readonly ruleSet: RuleSet;
  readonly replay: Replay;
  /** Called after everything up to its time was played. */
  readonly onExpectation: (expectation: Expectation) => void;
  /** By owner, then field; updated in each step. */
  readonly figures: Map<string, Map<string, LastFigure>>;
}

/** The order of actions at the same time. */
const order = ["stop", "restart", "step", "event", "acknowledge", "expect"] as const;

interface TestAction {
  /** Since the beginning of the test, ms. */
  readonly atMs: number;
  readonly what: (typeof order)[number];
  readonly run: () => void | Promise<void>;
}

/** The length of a test, ms. */
export function lengthMs({ intervalMs }: Suite, test: RuleTest): number {
  const asked = [...test.expects.map(({ atMs }) => atMs), test.nothing?.untilMs ?? 0];
  if (test.nothing === null || test.nothing.untilMs !== null) return Math.max(0, ...asked);
  const steps = test.series.map((one) => one.steps.length);
  const happens = [
    ...(steps.some((count) => count > 1) ? steps.map((count) => (count - 1) * intervalMs) : []),
    ...test.events.map(({ atMs }) => atMs),
    ...test.restarts.map(({ atMs, downMs }) => atMs + downMs),
    ...test.failed.map(({ toMs }) => toMs).filter(Number.isFinite),
  ];
  return Math.max(...asked, happens.length === 0 ? defaultLengthMs : Math.max(...happens));
}

export async function playTest(parts: PlayOptions): Promise<void> {
  const { suite, test, replay } = parts;
  const endMs = lengthMs(suite, test);
  const down = (atMs: number) =>
    test.restarts.find((one) => atMs > one.atMs && atMs < one.atMs + one.downMs) ?? null;
  const actions: TestAction[] = [];
  const stepper = new Stepper(parts);
  for (let index = 0; index * suite.intervalMs <= endMs; index++) {
    const atMs = index * suite.intervalMs;
    if (down(atMs) === null) actions.push({ atMs, what: "step", run: () => stepper.step(index) });
  }
  for (const { atMs, event } of test.events) {
    // An event during downtime is read at the next start.
    const missed = down(atMs);
    const seenAtMs = missed === null ? atMs : missed.atMs + missed.downMs;
    const seenMs = suite.startMs + seenAtMs;
    const source = eventSources[event.kind as RuleEventKind];
    const run = () =>
      replay.observe({
        kind: "events",
        source,
        wallet: event.wallet,
        atMs: seenMs,
        events: [{ ...event, seenMs }],
      });
    actions.push({ atMs: seenAtMs, what: "event", run });
  }
  for (const { atMs, downMs } of test.restarts) {
    actions.push({
      atMs,
      what: "stop",
      run: () => replay.observe({ kind: "stopped", atMs: suite.startMs + atMs }),
    });
    actions.push({
      atMs: atMs + downMs,
      what: "restart",
      run: async () => {
        const nowMs = suite.startMs + atMs + downMs;
        await replay.begin(nowMs, false);
        replay.observe({
          kind: "started",
          atMs: nowMs,
          version: "test",
          lastAliveMs: suite.startMs + atMs,
        });
      },
    });
  }
  for (const { atMs, rule, subject, by } of test.acknowledged)
    actions.push({
      atMs,
      what: "acknowledge",
      run: () => {
        for (const alert of [...replay.journal.alerts.values()]) {
          if (alert.rule !== rule || (subject !== null && alert.subject !== subject)) continue;
          if (alert.state === "firing" || alert.event)
            replay.observe({ kind: "acknowledged", atMs: suite.startMs + atMs, alert, by, comment: "" });
        }
      },
    });
  for (const expectation of test.expects)
    actions.push({ atMs: expectation.atMs, what: "expect", run: () => parts.onExpectation(expectation) });
  actions.sort((a, b) => a.atMs - b.atMs || order.indexOf(a.what) - order.indexOf(b.what));

  await replay.begin(suite.startMs, true);
  for (const { atMs, what, run } of actions) {
    if (atMs > endMs) break;
    const begins = test.restarts.find((one) => what === "restart" && one.atMs + one.downMs === atMs);
    // No deadline passes while the daemon is down.
    const until = begins ? begins.atMs : down(atMs) === null ? atMs : null;
    if (until !== null) replay.passUntil(suite.startMs + until + (what === "expect" ? 1 : 0));
    await run();
  }
  replay.passUntil(suite.startMs + endMs + 1);
}

/** Observes one step of all series. */
class Stepper {
  readonly #parts: PlayOptions;
  readonly #byOwner: ReadonlyMap<string, readonly TestSeries[]>;
  /** Sources of events that the rules read: they are read in every step, without new events. */
  readonly #histories: readonly Source[];
  readonly #exchangeHistories: readonly Source[];

  constructor(parts: PlayOptions) {
    this.#parts = parts;
    this.#byOwner = Map.groupBy(parts.test.series, (one) => one.owner);
    const kinds = new Set<RuleEventKind>(parts.test.events.map(({ event }) => event.kind as RuleEventKind));
    const { conditions, events } = parts.ruleSet;
    for (const rule of events) kinds.add(rule.on as RuleEventKind);
    for (const rule of [...conditions, ...events])
      for (const { path } of rule.windows) if (path.kind === "event") kinds.add(path.event as RuleEventKind);
    const read = new Set([...kinds].map((kind) => eventSources[kind]));
    // The reason why a position is gone is looked up there.
    read.add("liquidations");
    this.#histories = [...read].filter((source) => !exchangeSources.has(source));
    this.#exchangeHistories = [...read].filter((source) => exchangeSources.has(source));
  }

  step(index: number): void {
    const { suite, test, replay, figures } = this.#parts;
    const sinceMs = index * suite.intervalMs;
    const atMs = suite.startMs + sinceMs;
    const failing = test.failed.filter((one) => sinceMs >= one.fromMs && sinceMs < one.toMs);
    const fails = (source: Source, wallet: string | null): boolean =>
      failing.some(
        (one) => one.source === source && (one.wallet === null || one.wallet === wallet || wallet === null),
      );
    const failed = new Map<string, { readonly source: Source; readonly wallet: string | null }>();
    const fail = (source: Source, wallet: string | null): void => {
      const of = exchangeSources.has(source) ? null : wallet;
      failed.set(`${source}\n${of}`, { source, wallet: of });
    };
    for (const { source, wallet } of failing) {
      for (const one of exchangeSources.has(source) ? [null] : suite.wallets.map(({ name }) => name))
        if (wallet === null || wallet === one || one === null) fail(source, one);
    }

    const given: InjectedFigures[] = [];
    const accounts = new Map<string, { symbols: string[]; read: boolean }>();
    for (const [owner, series] of this.#byOwner) {
      const subject = parseSubject(owner);
      if (subject === undefined) continue;
      const wallet = "wallet" in subject ? subject.wallet : null;
      const now = series.map((one) => ({ ...one, step: one.steps[Math.min(index, one.steps.length - 1)]! }));
      const isGone = now.some(({ step }) => step.kind === "gone");
      const missing = new Set<Source>();
      for (const { field, step } of now) {
        const [source] = field.sources;
        if (source === undefined || (step.kind !== "failed" && step.kind !== "silent")) continue;
        missing.add(source);
        if (step.kind === "failed") fail(source, wallet);
      }
      for (const source of new Set(series.flatMap(({ field }) => field.sources)))
        if (fails(source, wallet)) missing.add(source);
      const sources = [...new Set(series.flatMap(({ field }) => field.sources))].filter(
        (source) => !missing.has(source),
      );
      if (isGone) figures.delete(owner);
      else {
        const values = valuesOf(now, missing);
        this.#note(owner, values, atMs);
        given.push({ owner, values, sources });
      }
      if (subject.scope !== "position" && subject.scope !== "trader") continue;
      const name = accountName(subject);
      const account = accounts.get(name) ?? { symbols: [], read: false };
      accounts.set(name, account);
      if (sources.includes("traderState") || (isGone && !missing.has("traderState"))) account.read = true;
      if (subject.scope === "position" && !isGone) account.symbols.push(subject.symbol);
      if (subject.scope === "trader" && isGone) given.push({ owner, values: {}, gone: true });
    }
    for (const [owner, { symbols, read }] of accounts) {
      if (!read || given.some((one) => one.owner === owner && one.gone === true)) continue;
      const own = given.findIndex((one) => one.owner === owner);
      const listed = { ...(given[own] ?? { owner, values: {}, sources: [] }), positions: symbols };
      if (own >= 0) given[own] = listed;
      else given.push(listed);
    }
    const exchange = this.#exchangeHistories.filter((source) => !fails(source, null));
    if (exchange.length > 0 && !this.#byOwner.has("exchange"))
      given.push({ owner: "exchange", values: {}, sources: exchange });

    for (const { source, wallet } of failed.values())
      replay.observe({
        kind: "failed",
        source,
        wallet,
        symbol: null,
        atMs,
        reason: "timeout",
        detail: "no answer",
      });
    if (given.length > 0) replay.observe({ kind: "figures", atMs, given });
    for (const { name } of suite.wallets) {
      for (const source of this.#histories) {
        if (!failed.has(`${source}\n${name}`))
          replay.observe({ kind: "events", source, wallet: name, atMs, events: [] });
      }
    }
  }

  #note(owner: string, values: Readonly<Record<string, Figure>>, atMs: number): void {
    const { figures } = this.#parts;
    const of = figures.get(owner) ?? new Map<string, LastFigure>();
    figures.set(owner, of);
    for (const [name, value] of Object.entries(values)) of.set(name, { value, atMs });
  }
}

/** The values whose sources are all present. */
function valuesOf(
  now: readonly (TestSeries & { readonly step: Step })[],
  missing: ReadonlySet<Source>,
): Record<string, Figure> {
  const values: Record<string, Figure> = {};
  for (const { field, step } of now) {
    if (step.kind === "value" && !field.sources.some((source) => missing.has(source)))
      values[field.name] = step.value;
  }
  return values;
}
