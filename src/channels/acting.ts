/** Does what people ask for in a chat: acknowledges and silences alerts and tells their story. Who may ask is the chat's matter. */
import type { Severity } from "../domain/alert.ts";
import type { Clock } from "../domain/clock.ts";
import { parseDurationMs } from "../domain/duration.ts";
import type { ChatActions } from "../domain/ports.ts";
import {
  type Answer,
  acknowledgedAnswer,
  allAcknowledgedAnswer,
  note,
  silencedAnswer,
  storyAnswer,
} from "./answers.ts";
import { readPress } from "./buttons.ts";
import type { ChannelLog } from "./log.ts";

export interface ActingOptions {
  readonly actions: ChatActions;
  readonly clock: Clock;
  readonly log: ChannelLog;
  readonly timezone: string;
  /** The chat's name for the log. */
  readonly where: string;
}

/** The time after which the person is told that the answer takes long. */
const workMs = 10_000;
/** Two silences that end within this time of each other are one. */
const sameSilenceMs = 60_000;

export const mayNot = note(
  "Sorry, you may not act here. Whoever runs perpwatch names those who may under `allow`.",
);

export function anotherAlert(id: number): Answer {
  return note(`The alert of this message is not known here any more; #${id} is another one, or none.`);
}

interface SilenceAsked {
  readonly matchers: readonly string[];
  readonly forMs: number;
  readonly comment: string;
  readonly by: string;
  readonly upTo?: Severity;
}

export class Acting {
  readonly #options: ActingOptions;
  /** Resolves when the last silence that was asked for is given, or was not. Never rejects. */
  #silencing: Promise<unknown> = Promise.resolve();

  constructor(options: ActingOptions) {
    this.#options = options;
  }

  /** Does what was asked in any case; only the answer says that it is not known yet. */
  async withinPatience(work: Promise<Answer>): Promise<Answer> {
    const { clock, log, where } = this.#options;
    let cancel = () => {};
    const late = new Promise<Answer>((resolve) => {
      cancel = clock.after(workMs, () =>
        resolve(
          note("This takes long: what comes of it is not known yet. `perpwatch status` tells how it is."),
        ),
      );
    });
    const done = work.catch((error: unknown) => {
      const why = error instanceof Error ? error.message : "failed";
      log.warn({ why }, `what was asked for from ${where} could not be done`);
      return note("This could not be done; the log says why.");
    });
    const answer = await Promise.race([done, late]);
    cancel();
    return answer;
  }

  /**
   * @param buttonId of the pressed button
   * @param by the person, as it is recorded
   * @param pressId of this one press, where the chat may tell it again: a silence that came of it is not given again
   */
  async pressed(buttonId: string, by: string, pressId?: string): Promise<Answer> {
    const press = readPress(buttonId);
    if (press === null) return note("I do not know this button.");
    const { actions, timezone } = this.#options;
    if (press.kind === "acknowledgeAll") return this.#acknowledgeAll(press.messageId, press.revision, by);
    const { alertId, firedAtMs } = press;
    if (press.kind === "acknowledge")
      return this.acknowledge(alertId, "", by, firedAtMs, press.shown ?? undefined);
    const story = await actions.alert(alertId);
    if (story === null || story.alert.firedAtMs !== firedAtMs) return anotherAlert(alertId);
    if (press.kind !== "silence") return storyAnswer(story, timezone);
    const { rule, subject } = story.alert;
    const matchers = [`rule=${rule}`, `subject=${subject}`];
    const comment = `from the message of alert #${alertId}${pressId === undefined ? "" : ` (press ${pressId})`}`;
    const given = pressId && actions.silences().find((one) => one.comment === comment);
    if (given) return silencedAnswer(given, null, timezone);
    return this.#silence({ matchers, forMs: press.hours * 3_600_000, comment, by, upTo: press.upTo });
  }

  async #acknowledgeAll(messageId: string, revision: number, by: string): Promise<Answer> {
    const { actions } = this.#options;
    const changes = await actions.shownIn(messageId, revision);
    if (changes === null) return note("This message is not known here any more.");
    const done: number[] = [];
    const rose: number[] = [];
    for (const { id, alertId } of changes) {
      const outcome = await actions.acknowledgeAlert(alertId, by, "", id);
      if (outcome === "done") done.push(alertId);
      else if (outcome === "rose") rose.push(alertId);
    }
    return allAcknowledgedAnswer(done, rose);
  }

  /**
   * @param firedAtMs of the alert that is meant, where that is known
   * @param shown number of the change that the person saw
   */
  async acknowledge(
    id: number,
    comment: string,
    by: string,
    firedAtMs?: number,
    shown?: number,
  ): Promise<Answer> {
    const { actions, timezone } = this.#options;
    const before = await actions.alert(id);
    if (firedAtMs !== undefined && before?.alert.firedAtMs !== firedAtMs) return anotherAlert(id);
    const done = await actions.acknowledgeAlert(id, by, comment, shown);
    const after = done === "already" ? await actions.alert(id) : before;
    return acknowledgedAnswer(id, done, after?.alert ?? null, timezone);
  }

  /** A silence in somebody's own words. @param asked either an alert's number or matchers */
  async silenceAsked(asked: {
    readonly period: string;
    readonly alert: string;
    readonly matching: string;
    readonly comment: string;
    readonly by: string;
  }): Promise<Answer> {
    const { period, alert, matching, comment, by } = asked;
    const forMs = parseDurationMs(period);
    if (forMs === undefined || forMs <= 0)
      return note(`"${period}" is no duration; they look like 1h, 8h, 2d.`);
    if ((alert === "") === (matching === "")) return note("Name either an alert or what has to match.");
    if (matching !== "") return this.#silence({ matchers: matching.split(/\s+/), forMs, comment, by });
    const story = await this.#options.actions.alert(Number(alert));
    if (story === null) return note(`There is no alert #${alert}.`);
    const { rule, subject, severity: upTo } = story.alert;
    return this.#silence({ matchers: [`rule=${rule}`, `subject=${subject}`], forMs, comment, by, upTo });
  }

  /** One at a time, so that one is given where several press at the same moment. */
  #silence(asked: SilenceAsked): Promise<Answer> {
    const done = this.#silencing.then(() => this.#giveSilence(asked));
    this.#silencing = done.catch(() => {});
    return done;
  }

  async #giveSilence({ matchers, forMs, comment, by, upTo }: SilenceAsked): Promise<Answer> {
    const { actions, clock, timezone } = this.#options;
    const nowMs = clock.nowMs();
    const wish = {
      matchers,
      author: by,
      comment,
      endsMs: nowMs + forMs,
      ...(upTo === undefined ? {} : { upTo }),
    };
    const asked = await actions.silence(wish, true);
    if (asked.kind === "wrong") return note(asked.problem);
    // Pressed twice, or by two people: one silence does.
    const standing = actions
      .silences()
      .find(
        (one) =>
          one.startsMs <= nowMs &&
          one.endsMs >= wish.endsMs - sameSilenceMs &&
          one.upTo === asked.silence.upTo &&
          JSON.stringify(one.match) === JSON.stringify(asked.silence.match),
      );
    if (standing !== undefined) return silencedAnswer(standing, null, timezone);
    const done = await actions.silence(wish, false);
    if (done.kind === "wrong") return note(done.problem);
    return silencedAnswer(done.silence, done.holds.length, timezone);
  }
}
