/** Holds what was sent against what was true. */
import type { Desk, Trouble } from "./desk.ts";
import { time } from "./desk.ts";
import { judgeEvents } from "./events.ts";
import { checkFigures } from "./figures.ts";
import { Findings } from "./findings.ts";
import { type Due, dueOf, isNews } from "./machine.ts";
import { type Context, type Model, models, pairName, rank, type Severity } from "./models.ts";
import { judgeNoData, noDataRules } from "./no-data.ts";
import type { Item } from "./receiver.ts";

/** Two poll intervals of positions and what a message takes, ms. */
const withinMs = 5_000;
/** After a trouble everything is at most two intervals old within 5 s, ms. */
const afterTroubleMs = 7_000;
/** Later than this a message is lost, ms. */
const lostAfterMs = 45_000;
/** Tolerance for clocks, and of samples of the truth, ms. */
export const slackMs = 400;
/** An alert that goes on for so long after its condition is forgotten, ms. */
const standingMs = 60_000;
/** Maximum age of data while everything answers, ms. */
export const freshMs = 6_000;
/** Thresholds are met a little sooner or later than the truth says. */
const lenient = 0.01;
/** The first reading of everything that a rule needs comes this long after watching begins, at the latest, ms. */
const firstReadingMs = 5_000;

export class Judge {
  readonly desk: Desk;
  readonly findings = new Findings();
  readonly context: Context;
  readonly untilMs: number;
  /** Machine's own delays are forgiven. */
  readonly graceMs: number;

  constructor(desk: Desk, context: Context, untilMs: number, graceMs: number) {
    this.desk = desk;
    this.context = context;
    this.untilMs = untilMs;
    this.graceMs = graceMs;
  }

  sceneAt(atMs: number): string {
    const { scenes } = this.desk;
    return (scenes.find(({ toMs }) => atMs < toMs) ?? scenes.at(-1))?.name ?? "";
  }

  /** Troubles that touch a wallet (null: any) within a time. */
  troubles(wallet: string | null, fromMs: number, toMs: number): readonly Trouble[] {
    return this.desk.troubles.filter(
      (one) =>
        one.fromMs <= toMs &&
        one.toMs >= fromMs &&
        (wallet === null || one.wallets === null || one.wallets.includes(wallet)),
    );
  }

  report(
    fault: "late" | "lost" | "false" | "false recovery" | "wrong figures",
    item: Item,
    truth: string,
  ): void {
    this.findings.add({
      scene: this.sceneAt(item.atMs),
      fault,
      atMs: item.atMs,
      wallet: item.wallet ?? "–",
      text: textOf(item),
      truth,
    });
  }

  run(): Findings {
    const { items } = this.desk.receiver;
    for (const item of items) this.findings.count(this.sceneAt(item.atMs), "sent");
    for (const model of models) {
      this.#conditions(model);
      this.#standing(model);
    }
    for (const item of items) {
      const model = models.find(({ rule }) => rule === item.rule);
      const before = this.findings.discrepancies.length;
      if (model) this.#item(model, item);
      // Figures of what is false anyway need no second word.
      if (this.findings.discrepancies.length === before) checkFigures(this, item);
    }
    const judged = judgeEvents(this);
    const known = new Set([...models.map(({ rule }) => rule), ...noDataRules, ...judged]);
    for (const item of items)
      if (!known.has(item.rule)) this.report("false", item, `nothing of this kind happened (${item.rule})`);
    judgeNoData(this);
    return this.findings;
  }

  /** Each level and each recovery that had to be reported, in time. */
  #conditions(model: Model): void {
    const { desk, context, untilMs } = this;
    const before = new Map<string, Due>();
    for (const due of dueOf(model, context, desk.startedMs, untilMs)) {
      const news = isNews(due, before.get(due.subject));
      before.set(due.subject, due);
      const within = model.withinMs ?? withinMs;
      const lastedMs = due.untilMs - due.atMs - (due.severity === null ? 0 : model.keepMs);
      if (!news || lastedMs < within + slackMs) continue;
      const wallet = walletOf(due.subject);
      const pair = context.pairs.get(pairName(due.subject))?.map((leg) => leg.split("/")[0]!);
      const blind = (pair ?? [wallet]).flatMap((one) =>
        this.troubles(one, due.atMs - model.windowMs - model.keepMs - 2_000, due.atMs + withinMs),
      );
      // What looks back has nothing to look back on after a start or a trouble.
      if (model.windowMs > 0 && (blind.length > 0 || due.atMs < desk.startedMs + model.windowMs + 5_000))
        continue;
      if (this.#isLate(wallet, due.atMs)) continue;
      const start = due.atMs - desk.startedMs < 2_000;
      const deadlineMs = Math.max(
        due.atMs + within + this.graceMs + (start ? 10_000 : 0) + this.#waitsForWord(wallet, due),
        ...blind
          .filter((one) => this.#hides(one, model, due))
          .map(
            (one) =>
              one.toMs +
              afterTroubleMs +
              (due.severity === null ? model.keepMs + 5_000 : model.forMs) +
              this.graceMs,
          ),
      );
      if (deadlineMs > untilMs || deadlineMs > due.untilMs) continue;
      const scene = this.sceneAt(due.atMs);
      this.findings.count(scene, "expected");
      this.#arrived(model, due, deadlineMs, scene);
    }
  }

  /** A recovery needs readings; a rise needs them where no price streams, or where it is not prices that make it. */
  #hides(trouble: Trouble, model: Model, due: Due): boolean {
    if (due.severity === null || trouble.kind === "outage" || trouble.kind === "down") return true;
    return !["LiquidationNear", "AccountLiquidationNear", "MarginHigh", "AccountLiquidatable"].includes(
      model.rule,
    );
  }

  #isLate(wallet: string, atMs: number): boolean {
    return this.desk.lateHistories.some(
      (late) => late.wallet === wallet && late.fromMs <= atMs + 20_000 && late.toMs + 20_000 >= atMs,
    );
  }

  #arrived(model: Model, due: Due, deadlineMs: number, scene: string): void {
    const life = this.desk.receiver.items.filter(
      (item) => item.rule === model.rule && item.subject === due.subject,
    );
    const said = (item: Item): Severity | null => (item.change === "ended" ? null : item.severity);
    const enough = (severity: Severity | null) =>
      due.severity === null ? severity === null : severity !== null && rank[severity] >= rank[due.severity];
    let state: Severity | null = null;
    for (const item of life) if (item.arrivedMs <= due.atMs) state = said(item);
    if (enough(state)) return;
    const found = life.find((item) => item.arrivedMs > due.atMs && enough(said(item)));
    if (found && found.arrivedMs <= deadlineMs) return;
    const text = `${model.rule} ${due.subject}: ${due.severity ?? "recovered"}`;
    const common = { scene, atMs: due.atMs, wallet: walletOf(due.subject), text };
    const so = `so since ${time(due.atMs)}, until ${time(due.untilMs)}, to be sent by ${time(deadlineMs)}`;
    if (found && found.arrivedMs < Math.min(due.untilMs + withinMs, deadlineMs + lostAfterMs)) {
      const lateMs = found.arrivedMs - deadlineMs;
      this.findings.add({
        ...common,
        fault: "late",
        truth: `${so}; came at ${time(found.arrivedMs)}, ${(lateMs / 1_000).toFixed(1)} s late: ${textOf(found)}`,
      });
    } else this.findings.add({ ...common, fault: "lost", truth: `${so}; never came` });
  }

  /** Alerts that nothing ended although their condition has been over for a minute at the end of the desk. */
  #standing(model: Model): void {
    const { context, desk, untilMs } = this;
    const last = new Map<string, Item>();
    for (const item of desk.receiver.items) if (item.rule === model.rule) last.set(item.subject, item);
    const ends = [untilMs - standingMs, untilMs - standingMs / 2, untilMs];
    for (const [subject, item] of last) {
      if (item.change === "ended" || item.atMs > ends[0]!) continue;
      const wallet = walletOf(subject);
      if (this.troubles(wallet, ends[0]! - 10_000, untilMs).length > 0) continue;
      if (desk.lateHistories.some((late) => late.wallet === wallet && late.toMs > untilMs - 12_000)) continue;
      const over = ends.every((atMs) => {
        const levels = model.levels(context, context.trace.at(atMs), atMs, subject, -lenient);
        return !levels || levels[0]!.off;
      });
      if (!over) continue;
      this.findings.add({
        scene: this.sceneAt(untilMs - 1),
        fault: "lost",
        atMs: untilMs,
        wallet,
        text: `${model.rule} ${subject}: recovered`,
        truth: `its condition has been over for a minute; the last word is ${textOf(item)}`,
      });
    }
  }

  /** Returns true if what a message says of its condition was true when its data was. */
  #item(model: Model, item: Item): void {
    const { context } = this;
    const { trace } = context;
    const wallets = context.pairs.get(pairName(item.subject))?.map((leg) => leg.split("/")[0]!) ?? [
      walletOf(item.subject),
    ];
    const troubled = wallets.some((one) => this.troubles(one, item.dataMs - 2_000, item.atMs).length > 0);
    const oldestMs = troubled ? item.dataMs : Math.max(item.dataMs, item.atMs - freshMs);
    const window = trace.between(oldestMs - slackMs - this.graceMs, item.atMs + slackMs);
    // A price arrives before what it does to an account, or after it.
    const mixed = window.flatMap((moment, index) => {
      const next = window[index + 1];
      return next ? [moment, { ...moment, marks: next.marks, oracles: next.oracles }] : [moment];
    });
    const at = (ease: number) =>
      mixed.map((moment) =>
        model.levels(
          context,
          moment,
          Math.max(moment.atMs, Math.min(item.dataMs, item.atMs)),
          item.subject,
          ease,
        ),
      );
    if (item.change === "ended") {
      if (item.ending === "recovered") {
        const over = at(lenient).some((levels) => !levels || levels[0]!.off);
        if (!over && !this.explained(item)) this.report("false recovery", item, this.#truth(model, item));
      } else if (["closed", "liquidated", "deleveraged", "flipped"].includes(item.ending ?? "")) {
        this.#gone(item);
      }
      return;
    }
    if (item.change === "fell") {
      const still = at(-lenient).every((levels) =>
        levels?.some((one) => rank[one.severity] > rank[item.severity] && one.on),
      );
      if (still && window.length > 0) this.report("false recovery", item, this.#truth(model, item));
      return;
    }
    if (!["fired", "rose", "worsened", "reminder"].includes(item.change)) return;
    const repeats = item.change === "worsened" || item.change === "reminder";
    const holds = at(lenient).some((levels) =>
      levels?.some((one) => one.severity === item.severity && (one.on || (repeats && !one.off))),
    );
    if (!holds && !repeats && !this.explained(item)) this.report("false", item, this.#truth(model, item));
    else if (repeats && !holds && !troubled && !this.explained(item))
      this.report("false", item, this.#truth(model, item));
    if (item.change === "fired") this.#marked(model, item);
    if (item.change === "fired" && this.#isRepeated(item))
      this.report("false", item, "it was reported before, and has not ended since");
  }

  /** A condition that held when watching began is marked so, and no other. */
  #marked(model: Model, item: Item): void {
    const { context, desk } = this;
    const held = (atMs: number, ease: number) =>
      model.levels(context, context.trace.at(atMs), atMs, item.subject, ease)?.some(({ on }) => on) === true;
    const starts = [
      desk.startedMs,
      ...desk.troubles.filter(({ kind }) => kind === "down").map(({ toMs }) => toMs),
    ];
    const recent = starts.filter((atMs) => atMs - 5_000 <= item.atMs && item.atMs <= atMs + 60_000);
    // Watching begins with the first reading that shows the condition, which takes its time.
    const atFirst = (atMs: number) => held(atMs, lenient) || held(atMs + firstReadingMs, lenient);
    if (item.alreadySo && !recent.some(atFirst))
      this.report("false", item, "it is marked as already so, and it was not when watching began");
    else if (!item.alreadySo && item.atMs < desk.startedMs + 3_000 && held(desk.startedMs, -lenient))
      this.report("false", item, "it held when watching began, and is not marked so");
  }

  /** An ending soon after a liquidation waits for the liquidation history, ms. */
  #waitsForWord(wallet: string, due: Due): number {
    if (due.severity !== null || !this.context.labels.has(wallet)) return 0;
    const { liquidations } = this.desk.account(wallet).wallet;
    return liquidations.all().some(({ atMs }) => atMs <= due.atMs && due.atMs - atMs < 90_000) ? 20_000 : 0;
  }

  /** Money moved and no history shows it yet: a message that names both readings is right. */
  explained(item: Item): boolean {
    const late = this.desk.flows.some(
      ({ wallet, fromMs, toMs }) =>
        wallet === item.wallet && fromMs <= item.atMs && toMs + 10_000 >= item.atMs,
    );
    // Lines of advice name deposits, too.
    const words = `${item.summary} ${item.description.replaceAll(/^.* of distance (?:or|and) margin .*$/gm, "")}`;
    return late && /withdraw|deposit|transfer/i.test(words) && /\bor\b/.test(words);
  }

  #isRepeated(item: Item): boolean {
    const { items } = this.desk.receiver;
    const before = items.filter(
      (one) =>
        one !== item &&
        one.rule === item.rule &&
        one.subject === item.subject &&
        one.atMs <= item.atMs &&
        !one.event,
    );
    const last = before.at(-1);
    return last !== undefined && last.change !== "ended" && items.indexOf(last) < items.indexOf(item);
  }

  /** A position that ended is gone, and one that was liquidated was. */
  #gone(item: Item): void {
    const { desk, context } = this;
    const symbol = item.symbol;
    if (symbol === null) return;
    const account = item.subject.slice(0, item.subject.lastIndexOf("/"));
    const moment = context.trace.at(item.atMs - slackMs);
    const held = moment.accounts.get(account)?.positions.find((one) => one.symbol === symbol);
    const before = context.trace
      .between(item.atMs - 90_000, item.atMs)
      .some((one) => !one.accounts.get(account)?.positions.some((position) => position.symbol === symbol));
    if (held && !before) {
      this.report("false recovery", item, `${account} holds ${held.size} ${symbol} all the time`);
      return;
    }
    const taken = desk
      .account(walletOf(account), account.split("/")[1])
      .wallet.liquidations.all()
      .filter((one) => one.symbol === symbol && item.atMs - one.atMs < 120_000 && one.atMs <= item.atMs)
      .map(({ detail }) => (detail.kind === "adl" ? "deleveraged" : "liquidated"));
    if (item.ending !== "closed" && item.ending !== "flipped" && !taken.some((how) => how === item.ending))
      this.report("false", item, `${account} was not ${item.ending} in ${symbol} within 2 min before`);
    if (item.ending === "closed" && taken.length > 0)
      this.report("false", item, `${account} was ${taken.join(" and ")} in ${symbol}, not closed`);
  }

  #truth(model: Model, item: Item): string {
    const moment = this.context.trace.at(item.atMs);
    const levels = model.levels(this.context, moment, item.atMs, item.subject, 0);
    if (!levels) return `there is no ${item.subject} at ${time(item.atMs)}`;
    const words = levels.map(
      ({ severity, on, off }) => `${severity} ${on ? "holds" : off ? "is over" : "neither"}`,
    );
    return `at ${time(item.atMs)} ${words.join(", ")}; ${describe(this, item)}`;
  }
}

const walletOf = (subject: string): string => subject.split("/")[0]!;

export const textOf = (item: Item): string =>
  `[${item.rule} ${item.subject}, ${item.change}, data of ${time(item.dataMs)}] ${item.lead}: ${item.summary}`;

/** The truth of a subject in numbers. */
export function describe(judge: Judge, item: Item): string {
  const { trace } = judge.context;
  const moment = trace.at(item.atMs);
  const [wallet, account] = item.subject.split("/");
  const parts: string[] = [];
  if (wallet !== undefined && judge.context.labels.has(wallet)) {
    const { equity, pnl } = trace.wallet(moment, wallet);
    parts.push(`wallet equity ${equity.toFixed(2)}, profit ${pnl.toFixed(2)}`);
  }
  if (account !== undefined) {
    const figures = trace.account(moment, `${wallet}/${account}`);
    if (figures) parts.push(`margin ratio ${figures.ratio.toFixed(4)}`);
    for (const { symbol, mark, distance, size } of figures?.positions ?? [])
      parts.push(`${size} ${symbol} at ${mark.toFixed(2)}, distance ${distance.toFixed(4)}`);
  }
  return parts.join("; ");
}
