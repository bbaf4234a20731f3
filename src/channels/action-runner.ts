/**
 * Runs the actions that people request in a chat: acknowledges and silences alerts and shows their history.
 * Authorization is checked by the caller.
 */
import type { Severity } from "../domain/alerts/alert.ts";
import type { Clock } from "../domain/clock.ts";
import type { ChatActions } from "../domain/ports.ts";
import { parseDurationMs } from "../domain/text/duration.ts";
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

export interface ActionRunnerOptions {
  readonly actions: ChatActions;
  readonly clock: Clock;
  readonly log: ChannelLog;
  readonly timezone: string;
  /** Name of the chat in log lines and answers. */
  readonly chat: string;
}

/** An action that runs longer than this is answered with "takes long". */
const slowAfterMs = 10_000;
/** Silences whose ends differ by less than this are the same silence. */
const sameSilenceToleranceMs = 60_000;

export const notAllowed = note(
  "Sorry, you may not act here. Whoever runs perpwatch names those who may under `allow`.",
);

export function otherAlert(id: number): Answer {
  return note(`The alert of this message is not known here any more; #${id} is another one, or none.`);
}

interface SilenceRequest {
  readonly matchers: readonly string[];
  readonly forMs: number;
  readonly comment: string;
  readonly by: string;
  readonly upTo?: Severity;
}

export class ActionRunner {
  readonly #options: ActionRunnerOptions;
  /** Resolves when the last requested silence was created or failed. Never rejects. */
  #silencing: Promise<unknown> = Promise.resolve();

  constructor(options: ActionRunnerOptions) {
    this.#options = options;
  }

  /**
   * Waits at most `slowAfterMs` for the answer. The work goes on after that; only the answer states that its result is
   * not known yet.
   */
  async answerInTime(work: Promise<Answer>): Promise<Answer> {
    const { clock, log, chat } = this.#options;
    let cancel = () => {};
    const late = new Promise<Answer>((resolve) => {
      cancel = clock.after(slowAfterMs, () =>
        resolve(note("This takes long: the result is not known yet. `perpwatch status` shows it.")),
      );
    });
    const done = work.catch((error: unknown) => {
      const why = error instanceof Error ? error.message : "failed";
      log.warn({ why }, `what was asked for from ${chat} could not be done`);
      return note("This could not be done; the log says why.");
    });
    const answer = await Promise.race([done, late]);
    cancel();
    return answer;
  }

  /**
   * @param buttonId of the pressed button
   * @param by the person, as recorded
   * @param pressId of this press, where the chat may deliver it twice: a silence that it created is not created again
   */
  async handlePress(buttonId: string, by: string, pressId?: string): Promise<Answer> {
    const press = readPress(buttonId);
    if (press === null) return note("I do not know this button.");
    const { actions, timezone } = this.#options;
    if (press.kind === "acknowledgeAll") return this.#acknowledgeAll(press.messageId, press.revision, by);
    const { alertId, firedAtMs } = press;
    if (press.kind === "acknowledge")
      return this.acknowledge(alertId, "", by, firedAtMs, press.shown ?? undefined);
    const story = await actions.alert(alertId);
    if (story === null || story.alert.firedAtMs !== firedAtMs) return otherAlert(alertId);
    if (press.kind !== "silence") return storyAnswer(story, timezone);
    const { rule, subject } = story.alert;
    const matchers = [`rule=${rule}`, `subject=${subject}`];
    const comment = `from the message of alert #${alertId}${pressId === undefined ? "" : ` (press ${pressId})`}`;
    const existing = pressId && actions.silences().find((one) => one.comment === comment);
    if (existing) return silencedAnswer(existing, null, timezone);
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
   * @param firedAtMs of the intended alert, where known
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
    if (firedAtMs !== undefined && before?.alert.firedAtMs !== firedAtMs) return otherAlert(id);
    const done = await actions.acknowledgeAlert(id, by, comment, shown);
    const after = done === "already" ? await actions.alert(id) : before;
    return acknowledgedAnswer(id, done, after?.alert ?? null, timezone);
  }

  /** Creates a silence from typed text. @param asked either an alert's number or matchers */
  async silenceFromText(asked: {
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

  /** Creates silences one at a time, so that simultaneous presses create one silence. */
  #silence(asked: SilenceRequest): Promise<Answer> {
    const done = this.#silencing.then(() => this.#createSilence(asked));
    this.#silencing = done.catch(() => {});
    return done;
  }

  async #createSilence({ matchers, forMs, comment, by, upTo }: SilenceRequest): Promise<Answer> {
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
    // A second press, or a press by another person, reuses the active silence.
    const standing = actions
      .silences()
      .find(
        (one) =>
          one.startsMs <= nowMs &&
          one.endsMs >= wish.endsMs - sameSilenceToleranceMs &&
          one.upTo === asked.silence.upTo &&
          JSON.stringify(one.match) === JSON.stringify(asked.silence.match),
      );
    if (standing !== undefined) return silencedAnswer(standing, null, timezone);
    const done = await actions.silence(wish, false);
    if (done.kind === "wrong") return note(done.problem);
    return silencedAnswer(done.silence, done.holds.length, timezone);
  }
}
