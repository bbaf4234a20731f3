/**
 * The slash commands and their registration. They are registered together, for the server of the channel; registering
 * the same list again changes nothing.
 */
import type { Clock } from "../../../domain/clock.ts";
import type { ChannelLog } from "../../log.ts";
import type { ApiAnswer, ApiProblem, DiscordApi } from "../api.ts";

const types = { text: 3, whole: 4 } as const;

interface Option {
  readonly type: number;
  readonly name: string;
  readonly description: string;
  readonly required?: boolean;
  readonly min_value?: number;
  readonly max_length?: number;
  readonly choices?: readonly { readonly name: string; readonly value: string }[];
}

const alertOption = (required: boolean): Option => ({
  type: types.whole,
  name: "alert",
  description: "The number of the alert, as messages show it after #",
  min_value: 1,
  ...(required ? { required } : {}),
});
const commentOption: Option = {
  type: types.text,
  name: "comment",
  description: "Why, for those who read it later",
  max_length: 500,
};
const walletOption: Option = {
  type: types.text,
  name: "wallet",
  description: "Of this wallet only",
  max_length: 100,
};

export const commands: readonly {
  readonly name: string;
  readonly description: string;
  readonly options?: readonly Option[];
}[] = [
  { name: "status", description: "How perpwatch is, what it sees and what fires" },
  {
    name: "positions",
    description: "Open positions, those nearest to liquidation first",
    options: [walletOption],
  },
  { name: "alerts", description: "What fires, the worst first", options: [walletOption] },
  {
    name: "silence",
    description: "Hold messages back for a while: of an alert, or of all that matches",
    options: [
      {
        type: types.text,
        name: "for",
        description: "For how long: 1h, 8h, 2d",
        required: true,
        max_length: 20,
      },
      alertOption(false),
      {
        type: types.text,
        name: "matching",
        description: "Instead of an alert: wallet=main severity=warning,info rule!=Blind",
        max_length: 500,
      },
      commentOption,
    ],
  },
  { name: "ack", description: "Acknowledge an alert", options: [alertOption(true), commentOption] },
  {
    name: "funding",
    description: "Funding rates of the markets held, and what was paid",
    options: [walletOption],
  },
  { name: "pnl", description: "Equity and profit, by wallet", options: [walletOption] },
  { name: "rules", description: "The rules in use, and those that cannot judge everything" },
];

/** Wait after a refusal, which a person has to fix. */
const refusedWaitMs = 3_600_000;
const firstWaitMs = 5_000;
const maxWaitMs = 300_000;

/** Registers the commands, with retries in the background. Messages do not wait for it. */
export class Registration {
  readonly #options: {
    readonly api: DiscordApi;
    readonly channelId: string;
    readonly clock: Clock;
    readonly log: ChannelLog;
  };
  #life = new AbortController();
  #cancelWait: () => void = () => {};
  #failures = 0;
  #started = false;

  constructor(options: {
    readonly api: DiscordApi;
    readonly channelId: string;
    readonly clock: Clock;
    readonly log: ChannelLog;
  }) {
    this.#options = options;
  }

  start(): void {
    if (this.#started) return;
    this.#started = true;
    this.#life = new AbortController();
    void this.#run(this.#life.signal);
  }

  stop(): void {
    this.#started = false;
    this.#life.abort();
    this.#cancelWait();
  }

  async #run(life: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    const problem = await this.#register(life).catch(() => null);
    if (life.aborted) return;
    if (problem === null) {
      this.#failures = 0;
      log.debug({}, "Discord knows the slash commands");
      return;
    }
    const refused = problem.failure === "authentication" || problem.failure === "rejected";
    const fix = refused ? "; add the bot to the server anew, with the scope applications.commands" : "";
    log.warn({ why: problem.detail }, `Discord does not take the slash commands${fix}`);
    const waitMs = refused ? refusedWaitMs : Math.min(maxWaitMs, firstWaitMs * 2 ** this.#failures);
    this.#failures += 1;
    this.#cancelWait = clock.after(Math.max(waitMs, problem.afterMs ?? 0), () => void this.#run(life));
  }

  /** @returns the problem, or null */
  async #register(life: AbortSignal): Promise<ApiProblem | null> {
    const { api, channelId } = this.#options;
    const application = await api.call({ method: "GET", route: "/applications/@me" }, life);
    if (application.kind === "problem") return application;
    const channel = await api.call({ method: "GET", route: `/channels/${channelId}` }, life);
    if (channel.kind === "problem") return channel;
    const guildId = textOrNumber(channel, "guild_id");
    // A private channel has no server, so there is nothing to register.
    if (guildId === null) return null;
    const route =
      `/applications/${textOrNumber(application, "id") ?? "unknown"}/guilds/${guildId}/commands` as const;
    const answer = await api.call({ method: "PUT", route, body: commands }, life);
    return answer.kind === "problem" ? answer : null;
  }
}

function textOrNumber(answer: ApiAnswer, name: string): string | null {
  if (answer.kind !== "ok" || typeof answer.data !== "object" || answer.data === null) return null;
  const value: unknown = Reflect.get(answer.data, name);
  return typeof value === "string" ? value : null;
}
