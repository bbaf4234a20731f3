/**
 * Handles actions of people on Discord: takes what they press and type, looks whether they may, does it, and tells them, and
 * nobody else, what came of it.
 *
 * Discord gives 3 s to say that an interaction was taken and 15 minutes to answer it, so taking comes first. A token that
 * is no more valid by then has shown its owner a failure already: nothing is done behind it. A restart loses nothing, as
 * there is nothing to lose: what a press means stands in the button.
 *
 * Daemons that share a bot are told the same. A button is answered by the one whose message it stands under; the others say that
 * they do not know it only when nobody has answered. What somebody types is answered by whoever takes it first, and only by
 * that one.
 */
import type { Clock } from "../../domain/clock.ts";
import type { ChatActions } from "../../domain/ports.ts";
import { Acting, anotherAlert, mayNot } from "../acting.ts";
import {
  type Answer,
  alertsAnswer,
  fundingAnswer,
  note,
  pnlAnswer,
  positionsAnswer,
  rulesAnswer,
  statusAnswer,
} from "../answers.ts";
import { BoundedLog } from "../bounded-log.ts";
import { readPress } from "../buttons.ts";
import type { ChannelLog } from "../log.ts";
import { RefusedPresses } from "../refused-presses.ts";
import { answerBody } from "./answer-body.ts";
import type { ApiAnswer, DiscordApi } from "./api.ts";
import { type Interaction, type Person, readInteraction } from "./interaction.ts";
import { placeOf } from "./place.ts";
import type { AllowSettings } from "./settings.ts";

export interface DeskOptions {
  /** Without a token: an interaction's own is its authorization. */
  readonly api: DiscordApi;
  /** The channel's name in the configuration: the receiver of its messages. */
  readonly name: string;
  readonly channelId: string;
  readonly allow: AllowSettings;
  readonly actions: ChatActions;
  readonly clock: Clock;
  readonly log: ChannelLog;
  readonly timezone: string;
}

/** Taking may be tried twice within Discord's 3 s. */
const takeTimeoutMs = 1_300;
const takeTries = 2;
/**
 * The time for finding the owner of the message under which a button stands, and for which a daemon that does not own it
 * waits.
 */
const whoseMs = 500;
const asideMs = 1_200;
const maxTellTries = 4;
const remembered = 1_000;

const responses = { message: 4, deferredMessage: 5 } as const;
const ephemeral = 64;
const codes = { unknownInteraction: 10062, alreadyTaken: 40060 } as const;

export class Desk {
  readonly #options: DeskOptions;
  readonly #log: BoundedLog;
  readonly #acting: Acting;
  readonly #refused: RefusedPresses;
  readonly #seen = new Set<string>();
  readonly #waits = new Set<() => void>();
  readonly #life = new AbortController();

  constructor(options: DeskOptions) {
    this.#log = new BoundedLog({ ...options, where: "Discord" });
    this.#options = { ...options, log: this.#log };
    this.#acting = new Acting({ ...this.#options, where: "Discord" });
    this.#refused = new RefusedPresses({ ...options, where: "Discord" });
  }

  /** Takes what the gateway brought, whatever it is. Throws nothing. */
  take(data: unknown): void {
    const interaction = readInteraction(data, this.#options.channelId);
    // Discord's gateway may tell the same again after a lost connection.
    if (interaction === null || this.#life.signal.aborted || this.#seen.has(interaction.id)) return;
    this.#seen.add(interaction.id);
    const [oldest] = this.#seen;
    if (this.#seen.size > remembered && oldest !== undefined) this.#seen.delete(oldest);
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
    const what = wordsOf(interaction);
    if (!(await this.#isOurs(interaction))) {
      await this.#after(asideMs);
      const words = this.#mayAct(interaction.person) ? anotherAlert(alertOf(interaction)) : mayNot;
      const data = { ...answerBody(words), flags: ephemeral };
      await this.#respond(interaction, { type: responses.message, data });
      return;
    }
    if (!this.#mayAct(interaction.person)) {
      this.#refused.note(who, what);
      const body = answerBody(mayNot);
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
    const answer = await this.#acting.withinPatience(this.#act(interaction));
    this.#log.acted(
      answer.changed === true,
      { who, what },
      `acted from Discord: ${answer.title || [answer.lines[0]].flat().join(" ")}`,
    );
    await this.#tell(interaction, answer, 0);
  }

  /** True if the message under which something was pressed is of this daemon, on this channel. What is typed is everybody's. */
  async #isOurs({ wanted }: Interaction): Promise<boolean> {
    const press = wanted.kind === "button" ? readPress(wanted.customId) : null;
    if (wanted.kind !== "button" || press === null) return true;
    const { actions, name, clock } = this.#options;
    const ask = async (): Promise<boolean> => {
      if (press.kind === "acknowledgeAll")
        return (await actions.shownIn(press.messageId, press.revision)) !== null;
      const story = await actions.alert(press.alertId);
      if (story?.alert.firedAtMs !== press.firedAtMs) return false;
      const under = story.messages.filter(
        ({ receipt }) => receipt !== null && placeOf(receipt).id === wanted.messageId,
      );
      return under.length === 0 || under.some(({ receiver }) => receiver === name);
    };
    // Who cannot look takes it, and says what becomes of that.
    let cancel = () => {};
    const late = new Promise<boolean>((resolve) => {
      cancel = clock.after(whoseMs, () => resolve(true));
    });
    const ours = await Promise.race([ask().catch(() => true), late]);
    cancel();
    return ours;
  }

  #mayAct({ id, roles }: Person): boolean {
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
      // By an earlier try, whose answer was lost; or, before any, by another daemon.
      if (answer.code === codes.alreadyTaken && tries > 1) return { kind: "ok", data: null };
      if (tries >= takeTries) return answer;
      if (answer.failure === "rejected" || answer.failure === "authentication") return answer;
    }
  }

  async #act({ wanted, person }: Interaction): Promise<Answer> {
    if (wanted.kind === "button") return this.#acting.pressed(wanted.customId, person.name);
    const text = (name: string): string => String(wanted.options.get(name) ?? "").trim();
    const { actions, timezone } = this.#options;
    const wallet = text("wallet");
    switch (wanted.name) {
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
        return this.#acting.acknowledge(Number(text("alert")), text("comment"), person.name);
      case "silence":
        return this.#acting.silenceAsked({
          ...{ period: text("for"), alert: text("alert"), matching: text("matching") },
          ...{ comment: text("comment"), by: person.name },
        });
      default:
        return note("I do not know this command.");
    }
  }

  /** Shows the answer in place of "thinking". What was done is done, whether or not this can be shown. */
  async #tell(interaction: Interaction, answer: Answer, tries: number): Promise<void> {
    const { api, log } = this.#options;
    const { applicationId, token } = interaction;
    const route = `/webhooks/${applicationId}/${token}/messages/@original` as const;
    const sent = await api.call({ method: "PATCH", route, body: answerBody(answer) }, this.#life.signal);
    if (sent.kind === "ok") return;
    const final = sent.failure === "rejected" || sent.failure === "authentication";
    if (final || tries + 1 >= maxTellTries) {
      log.warn(
        { who: interaction.person.name, why: sent.detail },
        "Discord did not take the answer to an interaction",
      );
      return;
    }
    await this.#after(sent.afterMs ?? 500 * 2 ** tries);
    return this.#tell(interaction, answer, tries + 1);
  }

  #after(ms: number): Promise<void> {
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

function alertOf({ wanted }: Interaction): number {
  const press = wanted.kind === "button" ? readPress(wanted.customId) : null;
  return press === null || press.kind === "acknowledgeAll" ? 0 : press.alertId;
}

/** For the log. */
function wordsOf({ wanted }: Interaction): string {
  if (wanted.kind === "button") return wanted.customId;
  const options = [...wanted.options].map(([name, value]) => ` ${name}:${value}`).join("");
  return `/${wanted.name}${options}`.slice(0, 300);
}
