/**
 * Handles interactions on Discord: acknowledges a press or command, checks authorization, runs the action, and shows
 * the result to the person only.
 *
 * Discord requires an acknowledgement within 3 s and an answer within 15 minutes, so the acknowledgement is sent first.
 * If the token has expired by then, Discord has shown a failure, and nothing is done. A restart loses nothing, since a
 * button's id holds its meaning.
 *
 * Daemons that share a bot receive the same interactions. A button is answered by the daemon that sent its message; the
 * others answer that they do not know it only if nobody has answered. A command is answered by the daemon that
 * acknowledges it first, and only by it.
 */
import type { Clock } from "../../../domain/clock.ts";
import type { ChatActions } from "../../../domain/ports.ts";
import { ActionRunner, notAllowed, otherAlert } from "../../action-runner.ts";
import {
  type Answer,
  alertsAnswer,
  fundingAnswer,
  note,
  pnlAnswer,
  positionsAnswer,
  rulesAnswer,
  statusAnswer,
} from "../../answers.ts";
import { BoundedLog } from "../../bounded-log.ts";
import { readPress } from "../../buttons.ts";
import type { ChannelLog } from "../../log.ts";
import { RefusedPresses } from "../../refused-presses.ts";
import type { ApiAnswer, DiscordApi } from "../api.ts";
import { parseReceipt } from "../message-location.ts";
import type { AllowSettings } from "../settings.ts";
import { answerBody } from "./answer-body.ts";
import { type Interaction, type Person, readInteraction } from "./interaction.ts";

export interface InteractionHandlerOptions {
  /** Has no token: an interaction is authorized by its own. */
  readonly api: DiscordApi;
  /** The channel's name in the configuration, which is the receiver of its messages. */
  readonly name: string;
  readonly channelId: string;
  readonly allow: AllowSettings;
  readonly actions: ChatActions;
  readonly clock: Clock;
  readonly log: ChannelLog;
  readonly timezone: string;
}

/** The acknowledgement may be tried twice within Discord's 3 s. */
const takeTimeoutMs = 1_300;
const maxTakeAttempts = 2;
/** Time to find out whether this daemon sent the message of a button, and wait of a daemon that did not. */
const ownerTimeoutMs = 500;
const otherDaemonWaitMs = 1_200;
const maxReplyAttempts = 4;
const maxRemembered = 1_000;

const responses = { message: 4, deferredMessage: 5 } as const;
const ephemeral = 64;
const codes = { unknownInteraction: 10062, alreadyTaken: 40060 } as const;

export class InteractionHandler {
  readonly #options: InteractionHandlerOptions;
  readonly #log: BoundedLog;
  readonly #runner: ActionRunner;
  readonly #refused: RefusedPresses;
  readonly #seen = new Set<string>();
  readonly #waits = new Set<() => void>();
  readonly #life = new AbortController();

  constructor(options: InteractionHandlerOptions) {
    this.#log = new BoundedLog({ ...options, chat: "Discord" });
    this.#options = { ...options, log: this.#log };
    this.#runner = new ActionRunner({ ...this.#options, chat: "Discord" });
    this.#refused = new RefusedPresses({ ...options, chat: "Discord" });
  }

  /** Handles data from the gateway, whatever it is. Does not throw. */
  take(data: unknown): void {
    const interaction = readInteraction(data, this.#options.channelId);
    // Discord's gateway may deliver an interaction again after a lost connection.
    if (interaction === null || this.#life.signal.aborted || this.#seen.has(interaction.id)) return;
    this.#seen.add(interaction.id);
    const [oldest] = this.#seen;
    if (this.#seen.size > maxRemembered && oldest !== undefined) this.#seen.delete(oldest);
    this.#serve(interaction).catch((error: unknown) => {
      if (this.#life.signal.aborted) return;
      const why = error instanceof Error ? error.message : "failed";
      this.#options.log.warn({ who: interaction.person.name, why }, "an interaction on Discord failed");
    });
  }

  stop(): void {
    this.#life.abort();
    this.#refused.stop();
    this.#log.stop();
    for (const cancel of this.#waits) cancel();
    this.#waits.clear();
  }

  async #serve(interaction: Interaction): Promise<void> {
    const { log } = this.#options;
    const who = interaction.person.name;
    const what = describe(interaction);
    if (!(await this.#isOurs(interaction))) {
      await this.#delay(otherDaemonWaitMs);
      const words = this.#isAllowed(interaction.person) ? otherAlert(alertIdOf(interaction)) : notAllowed;
      const data = { ...answerBody(words), flags: ephemeral };
      await this.#respond(interaction, { type: responses.message, data });
      return;
    }
    if (!this.#isAllowed(interaction.person)) {
      this.#refused.note(who, what);
      const body = answerBody(notAllowed);
      await this.#respond(interaction, { type: responses.message, data: { ...body, flags: ephemeral } });
      return;
    }
    const taken = await this.#respond(interaction, {
      type: responses.deferredMessage,
      data: { flags: ephemeral },
    });
    if (taken.kind === "problem" && taken.code === codes.unknownInteraction) {
      log.warn(
        { who, what },
        "an interaction came too late for Discord: nothing was done, and its sender was shown so",
      );
      return;
    }
    if (taken.kind === "problem" && taken.code === codes.alreadyTaken) {
      log.debug({ who, what }, "another daemon with the same bot took an interaction");
      return;
    }
    const answer = await this.#runner.answerInTime(this.#act(interaction));
    this.#log.logAction(
      answer.changed === true,
      { who, what },
      `acted from Discord: ${answer.title || [answer.lines[0]].flat().join(" ")}`,
    );
    await this.#reply(interaction, answer, 0);
  }

  /** Returns true if this daemon sent the message of the button on this channel. Commands belong to every daemon. */
  async #isOurs({ request }: Interaction): Promise<boolean> {
    const press = request.kind === "button" ? readPress(request.customId) : null;
    if (request.kind !== "button" || press === null) return true;
    const { actions, name, clock } = this.#options;
    const ask = async (): Promise<boolean> => {
      if (press.kind === "acknowledgeAll")
        return (await actions.shownIn(press.messageId, press.revision)) !== null;
      const story = await actions.alert(press.alertId);
      if (story?.alert.firedAtMs !== press.firedAtMs) return false;
      const under = story.messages.filter(
        ({ receipt }) => receipt !== null && parseReceipt(receipt).id === request.messageId,
      );
      return under.length === 0 || under.some(({ receiver }) => receiver === name);
    };
    // If ownership cannot be determined, the interaction is handled.
    let cancel = () => {};
    const late = new Promise<boolean>((resolve) => {
      cancel = clock.after(ownerTimeoutMs, () => resolve(true));
    });
    const ours = await Promise.race([ask().catch(() => true), late]);
    cancel();
    return ours;
  }

  #isAllowed({ id, roles }: Person): boolean {
    const { allow } = this.#options;
    return allow.users.includes(id) || roles.some((role) => allow.roles.includes(role));
  }

  async #respond({ id, token }: Interaction, body: object): Promise<ApiAnswer> {
    const { api } = this.#options;
    const route = `/interactions/${id}/${token}/callback` as const;
    for (let tries = 1; ; tries++) {
      const call = { method: "POST", route, body, timeoutMs: takeTimeoutMs } as const;
      const answer = await api.call(call, this.#life.signal);
      if (answer.kind === "ok") return answer;
      // Acknowledged by an earlier attempt whose answer was lost. On the first attempt another daemon acknowledged it.
      if (answer.code === codes.alreadyTaken && tries > 1) return { kind: "ok", data: null };
      if (tries >= maxTakeAttempts) return answer;
      if (answer.failure === "rejected" || answer.failure === "authentication") return answer;
    }
  }

  async #act({ request, person }: Interaction): Promise<Answer> {
    if (request.kind === "button") return this.#runner.handlePress(request.customId, person.name);
    const text = (name: string): string => String(request.options.get(name) ?? "").trim();
    const { actions, timezone } = this.#options;
    const wallet = text("wallet");
    switch (request.name) {
      case "status":
        return statusAnswer(actions.status(), timezone);
      case "positions":
        return positionsAnswer(actions.status(), wallet);
      case "alerts":
        return alertsAnswer(actions.status(), wallet, timezone);
      case "funding":
        return fundingAnswer(actions.status(), wallet);
      case "pnl":
        return pnlAnswer(actions.status(), wallet);
      case "rules":
        return rulesAnswer(actions.status());
      case "ack":
        return this.#runner.acknowledge(Number(text("alert")), text("comment"), person.name);
      case "silence":
        return this.#runner.silenceFromText({
          ...{ period: text("for"), alert: text("alert"), matching: text("matching") },
          ...{ comment: text("comment"), by: person.name },
        });
      default:
        return note("I do not know this command.");
    }
  }

  /** Replaces "thinking" by the answer. The action is not undone if this fails. */
  async #reply(interaction: Interaction, answer: Answer, tries: number): Promise<void> {
    const { api, log } = this.#options;
    const { applicationId, token } = interaction;
    const route = `/webhooks/${applicationId}/${token}/messages/@original` as const;
    const sent = await api.call({ method: "PATCH", route, body: answerBody(answer) }, this.#life.signal);
    if (sent.kind === "ok") return;
    const final = sent.failure === "rejected" || sent.failure === "authentication";
    if (final || tries + 1 >= maxReplyAttempts) {
      log.warn(
        { who: interaction.person.name, why: sent.detail },
        "Discord did not take the answer to an interaction",
      );
      return;
    }
    await this.#delay(sent.afterMs ?? 500 * 2 ** tries);
    return this.#reply(interaction, answer, tries + 1);
  }

  #delay(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const over = () => {
        this.#waits.delete(cancel);
        resolve();
      };
      const cancel = this.#options.clock.after(ms, over);
      this.#waits.add(cancel);
    });
  }
}

function alertIdOf({ request }: Interaction): number {
  const press = request.kind === "button" ? readPress(request.customId) : null;
  return press === null || press.kind === "acknowledgeAll" ? 0 : press.alertId;
}

/** Describes an interaction for the log. */
function describe({ request }: Interaction): string {
  if (request.kind === "button") return request.customId;
  const options = [...request.options].map(([name, value]) => ` ${name}:${value}`).join("");
  return `/${request.name}${options}`.slice(0, 300);
}
