/**
 * Escalation chains: the next receiver is notified of an alert that nobody acknowledged in time. Events escalate too,
 * until a person settles them. Stored in history, so that a restart keeps the chains.
 */

import { z } from "zod";
import type { Alert } from "../../domain/alerts/alert.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import { KeptKind, type KeptValues, keptNumber } from "../../domain/stored/kept.ts";
import type { Deadlines, Due } from "../../domain/structures/deadlines.ts";
import { formatDurationMs } from "../../domain/text/duration.ts";
import type { Escalation, Way } from "../routing/route.ts";

interface Chain extends Due {
  readonly alertId: number;
  /** The event that the chain is about: it has ended and is kept here until it is settled. Null: a firing alert. */
  readonly event: Alert | null;
  readonly sinceMs: number;
  readonly steps: readonly Escalation[];
  /** The next step. */
  next: number;
}

type Kept = Pick<Chain, "sinceMs" | "steps" | "next">;

export interface EscalationsOptions {
  readonly deadlines: Deadlines;
  readonly builder: () => ChangesBuilder;
  /** Returns the time until which the next step waits for data of its alert, ms; null: it does not wait. */
  readonly waitsUntilMs: (alertId: number, nowMs: number) => number | null;
  /** Notifies the next receivers; returns false if nobody needs to be notified any more. */
  readonly escalate: (
    builder: ChangesBuilder,
    alertId: number,
    event: Alert | null,
    receivers: readonly string[],
    words: readonly [string, string],
  ) => boolean;
}

/** By alert. */
export const keptChain: KeptKind<Kept, number> = new KeptKind(
  "escalation/{}",
  z.object({
    sinceMs: keptNumber,
    steps: z.array(z.object({ afterMs: keptNumber, receivers: z.array(z.string()) })),
    next: keptNumber,
  }),
);

/** Returns the steps of these ways; a step of a shared parent route is taken once. */
function stepsOf(ways: readonly Way[]): readonly Escalation[] {
  const receivers = new Map<number, Set<string>>();
  for (const { escalate } of ways)
    for (const step of escalate)
      receivers.set(step.afterMs, new Set([...(receivers.get(step.afterMs) ?? []), ...step.receivers]));
  return [...receivers]
    .map(([afterMs, names]) => ({ afterMs, receivers: [...names] }))
    .sort((a, b) => a.afterMs - b.afterMs);
}

export class Escalations {
  readonly #options: EscalationsOptions;
  readonly #chains = new Map<number, Chain>();
  /** The chains from before a reload, until they are taken over. */
  #former: ReadonlyMap<number, Chain>;

  /** @param before the chains of the watch that is replaced at a reload */
  constructor(options: EscalationsOptions, before: Escalations | undefined) {
    this.#options = options;
    this.#former = before ? before.#chains : new Map();
  }

  /** Returns the numbers of the alerts whose chains run, in order. */
  static idsIn(keep: KeptValues): readonly number[] {
    return keptChain
      .keys(keep)
      .map(Number)
      .sort((a, b) => a - b);
  }

  /** @param events the events whose chains may run */
  restore(keep: KeptValues, events: readonly Alert[]): void {
    const byId = new Map(events.map((event) => [event.id, event]));
    for (const id of Escalations.idsIn(keep)) {
      const kept = keptChain.get(keep, id)!;
      this.#run(id, byId.get(id) ?? null, kept, this.#former.get(id)?.order);
    }
    this.#former = new Map();
  }

  /** Starts the chains of an alert that fired or rose; running ones restart. */
  begin(alert: Alert, ways: readonly Way[], builder: ChangesBuilder): void {
    const steps = stepsOf(ways);
    if (steps.length === 0) {
      this.settle(alert.id, builder);
      return;
    }
    this.#keep(
      this.#run(alert.id, alert.event ? alert : null, { sinceMs: builder.atMs, steps, next: 0 }),
      builder,
    );
  }

  /** Ends the chain of an alert that is acknowledged or over. */
  settle(alertId: number, builder: ChangesBuilder): void {
    const chain = this.#chains.get(alertId);
    if (!chain) return;
    this.#options.deadlines.cancel(chain);
    this.#chains.delete(alertId);
    keptChain.drop(alertId, builder);
  }

  /** Moves the next step of a waiting chain to its regular time. */
  hasten(alertId: number): void {
    const chain = this.#chains.get(alertId);
    if (chain) this.#schedule(chain);
  }

  #run(alertId: number, event: Alert | null, { sinceMs, steps, next }: Kept, order?: number): Chain {
    const known = this.#chains.get(alertId);
    if (known) this.#options.deadlines.cancel(known);
    const chain: Chain = {
      alertId,
      event,
      sinceMs,
      steps,
      next,
      dueMs: Number.POSITIVE_INFINITY,
      queuedMs: Number.POSITIVE_INFINITY,
      place: -1,
      order,
      onDue: (nowMs) => this.#due(chain, nowMs),
    };
    this.#chains.set(alertId, chain);
    this.#schedule(chain);
    return chain;
  }

  #due(chain: Chain, nowMs: number): void {
    if (this.#chains.get(chain.alertId) !== chain) return;
    const waitsUntilMs = this.#options.waitsUntilMs(chain.alertId, nowMs);
    if (waitsUntilMs !== null) {
      this.#options.deadlines.set(chain, waitsUntilMs);
      return;
    }
    const builder = this.#options.builder();
    const step = chain.steps[chain.next]!;
    const words = ["Nobody answered", `for ${formatDurationMs(nowMs - chain.sinceMs)}`] as const;
    const goesOn = this.#options.escalate(builder, chain.alertId, chain.event, step.receivers, words);
    chain.next++;
    if (!goesOn || chain.next >= chain.steps.length) {
      this.settle(chain.alertId, builder);
      return;
    }
    this.#schedule(chain);
    this.#keep(chain, builder);
  }

  #schedule(chain: Chain): void {
    this.#options.deadlines.set(chain, chain.sinceMs + chain.steps[chain.next]!.afterMs);
  }

  #keep({ alertId, sinceMs, steps, next }: Chain, builder: ChangesBuilder): void {
    keptChain.put(alertId, { sinceMs, steps, next }, builder);
  }
}
