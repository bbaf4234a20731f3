/** Silences as people ask for them: made, tried out, and ended early. */

import { covers } from "../../alerts/reminders/quiet.ts";
import { labelsOf } from "../../alerts/routing/alert-routes.ts";
import { isWrong, matches, parseMatchers } from "../../alerts/routing/match.ts";
import type { Silence, SilenceWish } from "../../domain/alerts/silence.ts";
import type { Clock } from "../../domain/clock.ts";
import type { SilenceOutcome } from "../../domain/ports.ts";
import type { IngestLoop } from "../../ingest/loop.ts";

const maxSilenceMs = 10 * 31_536_000_000;

export class Silencing {
  readonly #ingest: IngestLoop;
  readonly #clock: Clock;
  /** The newest number that a silence was given in this run. */
  #silenceId = 0;

  constructor(ingest: IngestLoop, clock: Clock) {
    this.#ingest = ingest;
    this.#clock = clock;
  }

  all(): readonly Silence[] {
    return this.#ingest.watch.silences;
  }

  async add(wish: SilenceWish, preview: boolean): Promise<SilenceOutcome> {
    const match = parseMatchers(wish.matchers);
    if (isWrong(match)) return { kind: "wrong", problem: match.wrong };
    const nowMs = this.#clock.nowMs();
    const startsMs = wish.startsMs ?? nowMs;
    if (wish.endsMs <= Math.max(nowMs, startsMs))
      return { kind: "wrong", problem: "a silence ends after it begins, and after now" };
    // No calendar knows the end of what is meant to be for ever, and nobody would be told of it again.
    if (!(wish.endsMs <= nowMs + maxSilenceMs))
      return { kind: "wrong", problem: "a silence ends within ten years" };
    const firing = this.#ingest.watch.status(nowMs).firing.filter((alert) => matches(match, labelsOf(alert)));
    const { upTo = "warning", author, comment, endsMs } = wish;
    // One that was given a moment ago may not have been heard of yet.
    const id = 1 + Math.max(this.#silenceId, ...this.all().map((one) => one.id));
    if (!preview) this.#silenceId = id;
    const silence = { id, match, upTo, author, comment, startsMs, endsMs, createdMs: nowMs };
    if (!preview) await this.#ingest.observe({ kind: "silenced", atMs: nowMs, silence });
    return { kind: "done", silence, holds: firing.filter(({ severity }) => covers(upTo, severity)) };
  }

  async expire(id: number, by: string) {
    const silence = this.all().find((one) => one.id === id);
    const nowMs = this.#clock.nowMs();
    if (!silence) return "unknown" as const;
    if (silence.endsMs <= nowMs) return "over" as const;
    const comment = [silence.comment, `ended by ${by}`].filter((part) => part !== "").join("; ");
    const over = { ...silence, startsMs: Math.min(silence.startsMs, nowMs), endsMs: nowMs, comment };
    await this.#ingest.observe({ kind: "silenced", atMs: nowMs, silence: over });
    return "done" as const;
  }
}
