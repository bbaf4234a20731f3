/**
 * Reports the time without a running watch: a start, or the end of a machine's sleep, shows its length and the
 * positions that were open when it began. A crash or a power loss writes no list, so the names of open positions are
 * stored while the watch runs.
 */
import { z } from "zod";
import type { BuiltInRule } from "../../domain/alerts/built-in.ts";
import type { Observation } from "../../domain/observation.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import { KeptKind, type KeptValues } from "../../domain/stored/kept.ts";
import { formatDurationMs } from "../../domain/text/duration.ts";
import { formatTime, timeOfDay } from "../../domain/text/time-text.ts";
import type { AlertBook } from "../alert-book.ts";
import { newAlert, type Over, type OwnAlert } from "./own-alert.ts";

const notWatchedRule = "NotWatched" satisfies BuiltInRule;

/** Minimum time without a running watch that is reported: a restart takes seconds. */
const minReportedMs = 60_000;
const dateFromMs = 12 * 3_600_000;
const maxNamed = 10;
/** An open position, by name. */
export const keptPosition: KeptKind<true> = new KeptKind("position/{}", z.literal(true));

export class Downtime implements OwnAlert {
  readonly observes = ["started"] as const;
  readonly raises = [notWatchedRule] as const;
  readonly #alerts: AlertBook;
  readonly #timezone: string;
  /** Names of the positions that were open at the last write to history, and have not been checked since. */
  readonly #before = new Set<string>();
  /** Names that are stored in history. */
  readonly #kept = new Set<string>();

  /** @param keep the kept values of history at the start */
  constructor(options: {
    readonly alerts: AlertBook;
    readonly timezone: string;
    readonly keep: KeptValues;
  }) {
    this.#alerts = options.alerts;
    this.#timezone = options.timezone;
    for (const name of keptPosition.keys(options.keep)) {
      this.#before.add(name);
      this.#kept.add(name);
    }
  }

  observe(seen: Observation, builder: ChangesBuilder): void {
    if (seen.kind === "started") this.#report(seen.lastAliveMs, builder);
  }

  /** Ends its alerts at once. */
  restore(): Over {
    return { ending: "ruleChanged" };
  }

  /** @param lastAliveMs end of the last time with a running watch, ms; null: there was none */
  #report(lastAliveMs: number | null, builder: ChangesBuilder): void {
    if (lastAliveMs === null || builder.atMs - lastAliveMs < minReportedMs) return;
    const lasted = formatDurationMs(builder.atMs - lastAliveMs);
    const from = formatTime(lastAliveMs, this.#timezone);
    const until = (builder.atMs - lastAliveMs > dateFromMs ? formatTime : timeOfDay)(
      builder.atMs,
      this.#timezone,
    );
    const open = [...this.#kept].sort();
    const positions =
      open.length === 0
        ? "No position was open when it began."
        : "Positions were open, and nobody would have told you of what came near them.";
    this.#alerts.recordEvent(
      builder,
      newAlert(builder.atMs, {
        rule: notWatchedRule,
        severity: open.length === 0 ? "info" : "warning",
        sinceMs: lastAliveMs,
        summary: `I was not watching from ${from} to ${until} (${lasted})`,
        description: `${positions} No alert could fire or end in that time, and no timer of a rule counts it. What holds now is told as soon as it is seen, by rules that compare with a moment of that time later; the exchange's own messages and histories of that time are read back.`,
        details: open.length === 0 ? [] : [["Open positions then", listed(open)]],
      }),
      `${notWatchedRule}:${lastAliveMs}`,
      null,
      true,
    );
  }

  opened(position: string, builder: ChangesBuilder): void {
    this.#before.delete(position);
    if (this.#kept.has(position)) return;
    this.#kept.add(position);
    keptPosition.put(position, true, builder);
  }

  gone(position: string, builder: ChangesBuilder): void {
    this.#before.delete(position);
    if (!this.#kept.delete(position)) return;
    keptPosition.drop(position, builder);
  }

  /**
   * An account was read completely: of its positions that were open before the start, those that did not appear are
   * closed.
   */
  read(wallet: string, pdaIndex: number, builder: ChangesBuilder): void {
    for (const position of this.#before)
      if (position.startsWith(`${wallet}/${pdaIndex}.`)) this.gone(position, builder);
  }

  /** Removes positions that are no longer watched, or whose wallet's name is now used by another wallet. */
  forget(isOurs: (position: string) => boolean, builder: ChangesBuilder): void {
    for (const position of this.#before) if (!isOurs(position)) this.gone(position, builder);
  }
}

function listed(names: readonly string[]): string {
  return names.length <= maxNamed
    ? names.join(", ")
    : `${names.slice(0, maxNamed).join(", ")} and ${names.length - maxNamed} more`;
}
