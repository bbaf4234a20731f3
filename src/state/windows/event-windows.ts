/**
 * Windows over events (`sumOver`, `countOver`). Events are kept for the length of the longest such window, so that a subject
 * that appears later has its past events too (the funding history is often read before the account).
 */
import type { Event, EventKind } from "../../domain/event.ts";
import { type Env, isUnknown, type RuleSet, type WindowSpec } from "../../rules/index.ts";
import type { SubjectNode } from "../subjects.ts";

const dayMs = 86_400_000;

export class EventWindows {
  readonly #keepMs = new Map<EventKind, number>();
  /** By wallet; "" for events of the exchange. Each wallet looks up its own. */
  readonly #kept = new Map<string, Event[]>();
  #taken = 0;
  readonly #env: (event: Event, nowMs: number) => Env;
  /** The accounts, as `0.1`, that an event without a subaccount may belong to. */
  readonly #ownersOf: (event: Event) => readonly string[];
  readonly #isOfBook: (book: SubjectNode, event: Event) => boolean;

  constructor(
    ruleSet: RuleSet,
    env: (event: Event, nowMs: number) => Env,
    ownersOf: (event: Event) => readonly string[],
    isOfBook: (book: SubjectNode, event: Event) => boolean,
  ) {
    this.#env = env;
    this.#ownersOf = ownersOf;
    this.#isOfBook = isOfBook;
    for (const rule of [...ruleSet.conditions, ...ruleSet.events]) {
      for (const spec of rule.windows) {
        if (spec.path.kind !== "event") continue;
        const windowMs = spec.windowMs === "today" ? 2 * dayMs : spec.windowMs;
        this.#keepMs.set(spec.path.event, Math.max(windowMs, this.#keepMs.get(spec.path.event) ?? 0));
      }
    }
  }

  /** The kinds that rules look back over, with the period of each, ms: the events to read from history at a start. */
  get spans(): ReadonlyMap<EventKind, number> {
    return this.#keepMs;
  }

  /** Keeps an event. The caller feeds it to the existing subjects. */
  keep(event: Event, nowMs: number): boolean {
    const keepMs = this.#keepMs.get(event.kind);
    if (keepMs === undefined || event.happenedMs < nowMs - keepMs) return false;
    const name = event.wallet ?? "";
    const kept = this.#kept.get(name);
    if (kept) kept.push(event);
    else this.#kept.set(name, [event]);
    if (++this.#taken % 4_096 === 0) this.#prune(nowMs);
    return true;
  }

  feed(node: SubjectNode, event: Event, nowMs: number): void {
    const covers = this.#covers(node, event);
    if (covers === "no") return;
    const amount = (spec: WindowSpec): number | null => this.#amount(spec, event, nowMs);
    node.windows?.feedEvent(event.kind, amount, event.happenedMs, covers === "yes");
  }

  /** Feeds a new subject with the kept events. */
  replay(node: SubjectNode, nowMs: number): void {
    if (this.#keepMs.size === 0 || node.windows === null) return;
    // A position that was opened while the daemon ran begins empty: earlier events belong to another position.
    if (node.subject.scope === "position" && !node.first) return;
    if (!node.windows.hasEvents) return;
    const { subject } = node;
    const lists = "wallet" in subject ? [this.#kept.get(subject.wallet) ?? []] : this.#kept.values();
    for (const list of lists) {
      for (const event of list) {
        if (event.happenedMs < node.bornMs) continue;
        // An account that appeared while the daemon ran held nothing before.
        if (subject.scope === "trader" && !node.first && event.subaccount === null) continue;
        this.feed(node, event, nowMs);
      }
    }
  }

  #amount(spec: WindowSpec, event: Event, nowMs: number): number | null {
    if (spec.path.kind !== "event") return null;
    if (spec.path.filter) {
      const holds = spec.path.filter.run(this.#env(event, nowMs));
      if (isUnknown(holds) || !holds) return null;
    }
    if (spec.path.field === null) return 1;
    const amount = event.fields[spec.path.field];
    return typeof amount === "number" ? amount : null;
  }

  /** Returns `yes` if an event belongs to a subject; `maybe`: several accounts of the wallet are possible. */
  #covers(node: SubjectNode, event: Event): "yes" | "no" | "maybe" {
    const subject = node.subject;
    const sure = (holds: boolean): "yes" | "no" => (holds ? "yes" : "no");
    if (subject.scope === "exchange") return sure(event.wallet === null);
    if (subject.scope === "book") return sure(this.#isOfBook(node, event));
    if (subject.scope === "daemon" || subject.scope === "pair") return "no";
    if (subject.scope === "market") return sure(event.symbol?.toUpperCase() === subject.symbol.toUpperCase());
    if (event.wallet !== subject.wallet) return "no";
    if (subject.scope === "wallet") return "yes";
    if (event.pdaIndex !== null && event.pdaIndex !== subject.pdaIndex) return "no";
    if (subject.scope === "position" && event.symbol?.toUpperCase() !== subject.symbol.toUpperCase())
      return "no";
    if (event.subaccount !== null) return sure(event.subaccount === subject.subaccount);
    const owners = this.#ownersOf(event);
    if (!owners.includes(`${subject.pdaIndex}.${subject.subaccount}`)) return "no";
    return owners.length === 1 ? "yes" : "maybe";
  }

  #prune(nowMs: number): void {
    for (const [wallet, list] of this.#kept) {
      const kept = list.filter((event) => event.happenedMs >= nowMs - (this.#keepMs.get(event.kind) ?? 0));
      if (kept.length === 0) this.#kept.delete(wallet);
      else if (kept.length < list.length) this.#kept.set(wallet, kept);
    }
  }
}
