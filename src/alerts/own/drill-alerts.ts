/**
 * Fire drills: a simulated liquidation takes the path of a real one, event → rule → alert, and is sent to every named
 * channel, regardless of routes. It is marked as a drill, never held, sent alone, not stored as an event, and concerns
 * no notification of the exchange. If a scheduled drill fails on a channel, the other channels are notified.
 */
import { drillRule } from "../../domain/alerts/alert.ts";
import type { BuiltInRule } from "../../domain/alerts/built-in.ts";
import type { Event } from "../../domain/event.ts";
import type { Observation } from "../../domain/observation.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { AlertBook } from "../alert-book.ts";
import type { LiveAlert } from "../live-alert.ts";
import { eventDetailsOf } from "../texts/details.ts";
import { newAlert, type Over, type OwnAlert } from "./own-alert.ts";

const drillFailedRule = "DrillFailed" satisfies BuiltInRule;

export class DrillAlerts implements OwnAlert {
  readonly observes = ["drill", "drilled"] as const;
  readonly raises = [drillFailedRule] as const;
  readonly #alerts: AlertBook;
  readonly #isConfigured: (channel: string) => boolean;
  readonly #runByThemselves: boolean;
  /** By channel. */
  readonly #failed = new Map<string, LiveAlert>();

  /**
   * @param isConfigured returns true for the name of a configured channel
   * @param runByThemselves true if drills have a schedule
   */
  constructor(alerts: AlertBook, isConfigured: (channel: string) => boolean, runByThemselves: boolean) {
    this.#alerts = alerts;
    this.#isConfigured = isConfigured;
    this.#runByThemselves = runByThemselves;
  }

  restore(live: LiveAlert): Over | null {
    const { channel } = live.alert.labels;
    if (channel === undefined || !this.#isConfigured(channel)) return { ending: "noLongerWatched" };
    if (!this.#runByThemselves)
      return { ending: "noLongerWatched", why: "drill.cron is not set: no fire drill runs by itself" };
    this.#failed.set(channel, live);
    return null;
  }

  observe(seen: Observation, builder: ChangesBuilder): void {
    if (seen.kind === "drill") this.#begin(seen, builder);
    else if (seen.kind === "drilled") this.#ended(seen, builder);
  }

  #begin({ id, by, receivers }: Observation & { readonly kind: "drill" }, builder: ChangesBuilder): void {
    const event = madeUp(id, builder.atMs);
    this.#alerts.recordDrill(
      builder,
      newAlert(builder.atMs, {
        rule: drillRule,
        subject: "drill",
        severity: "critical",
        happenedMs: event.happenedMs,
        summary: "Fire drill, nothing happened: a liquidation would reach you like this",
        description: `Made up to see whether alarms arrive, by ${by}. No position was liquidated, and there is nothing to do.`,
        dataAtMs: event.seenMs,
        details: [["Made up", "all of this"], ...eventDetailsOf(event)],
        drill: true,
      }),
      id,
      receivers,
    );
  }

  /**
   * Takes the result of a drill. Only failures of scheduled drills are reported; a person who starts a drill sees its
   * result.
   */
  #ended(seen: Observation & { readonly kind: "drilled" }, builder: ChangesBuilder): void {
    for (const { channel, failure } of seen.channels) {
      const known = this.#failed.get(channel);
      if (failure === null) {
        if (!known) continue;
        this.#failed.delete(channel);
        this.#alerts.end(builder, known, "recovered", {
          summary: `The channel ${channel} took a fire drill in time`,
          description: "",
          value: null,
          dataAtMs: builder.atMs,
          details: [["Channel", channel]],
        });
      } else if (!known && seen.scheduled) this.#fail(channel, failure, builder);
    }
  }

  #fail(channel: string, failure: string, builder: ChangesBuilder): void {
    const live = this.#alerts.fire(
      builder,
      newAlert(builder.atMs, {
        rule: drillFailedRule,
        labels: { channel },
        severity: "warning",
        summary: `The channel ${channel} did not take the fire drill`,
        description: `${failure}. A real alarm might not reach you there. This ends with the next drill that the channel takes: drill --channel ${channel} runs one.`,
        details: [["Channel", channel]],
        except: [channel],
      }),
    );
    this.#failed.set(channel, live);
  }
}

/** Returns an event of no wallet: it is never stored, and no user rule is evaluated for it. */
function madeUp(id: string, atMs: number): Event {
  return {
    kind: "liquidation",
    key: `drill:${id}`,
    wallet: null,
    pdaIndex: null,
    subaccount: null,
    symbol: null,
    happenedMs: atMs,
    seenMs: atMs,
    slot: 0,
    slotIndex: 0,
    eventIndex: 0,
    fields: { side: "ask", size: 100, price: 150, notional: 15_000 },
    data: null,
    backfilled: false,
    inbox: null,
    notificationKey: null,
  };
}
