/** The messages of one incident as they leave: judged, gathered, finalized and rendered by the code that runs live. */
import path from "node:path";
import { editedBody, endingsIn } from "../../src/channels/discord/edited.ts";
import { type DiscordBody, discordBody } from "../../src/channels/discord/render.ts";
import { mailParts } from "../../src/channels/email/render.ts";
import { render } from "../../src/channels/message.ts";
import { seal } from "../../src/deliver/seal.ts";
import { Standing } from "../../src/deliver/standing.ts";
import type { Changes } from "../../src/domain/changes.ts";
import type { Capacity, Message, OwedItem } from "../../src/domain/delivery.ts";
import { Replay } from "../../src/replay/replay.ts";
import { drive } from "../../src/replay/suite/drive.ts";
import { readyOf } from "./judged.ts";

const file = path.join(import.meta.dirname, "incidents.test.yaml");
const capacities: ReadonlyMap<string, Capacity> = new Map([["chat", { edits: true }]]);

/** One message of the incident, as its receiver sees it. */
export interface Sent {
  readonly atMs: number;
  readonly receiver: "chat" | "mail";
  readonly message: Message;
  /** Edited into the first message of the incident, in place of being sent. */
  readonly edited: boolean;
  /** Null for a mail; else the message, or the first one of the incident as it stands then. */
  readonly body: DiscordBody | null;
  /** Null for a chat. */
  readonly mail: ReturnType<typeof mailParts> | null;
}

/** The messages to a chat that edits, and to a mailbox. */
export async function sentOfIncident(): Promise<readonly Sent[]> {
  const { suite, settings } = readyOf(file);
  const play = new Play();
  const replay: Replay = new Replay({
    ...{ settings: { ...settings, capacities }, past: null, fromMs: suite.startMs, capacities },
    onChanges: (changes) => play.take(changes, replay),
  });
  const [test] = suite.tests;
  const { ruleSet } = settings;
  await drive({ suite, test: test!, ruleSet, replay, told: new Map(), onExpectation: () => {} });
  play.finish();
  return play.sent;
}

class Play {
  readonly sent: Sent[] = [];
  readonly #items = new Map<string, OwedItem>();
  readonly #since: Message[] = [];
  #root: Message | undefined;
  #handled = 0;
  #replay: Replay | undefined;
  readonly #standing = new Standing((id) => this.#replay?.watch.present(id, this.#replay.nowMs) ?? null);

  /** Takes what was decided, and what left by then. */
  take({ owed, alertChanges }: Changes, replay: Replay): void {
    this.#replay = replay;
    const changes = new Map(alertChanges.map((change) => [change.id, change]));
    for (const item of owed) {
      this.#items.set(`${item.changeId} ${item.receiver}`, item);
      this.#standing.note(item, changes.get(item.changeId)!);
    }
    for (const { kind, alertId } of alertChanges) if (kind === "ended") this.#standing.over(alertId);
    const { messages } = replay.journal;
    for (; this.#handled < messages.length; this.#handled++) {
      const { atMs, receiver, covers } = messages[this.#handled]!;
      const told = covers.map((change) => ({ change, item: this.#items.get(`${change.id} ${receiver}`)! }));
      const standing = this.#standing.beside(told, atMs);
      const message = seal(told, { sender: "perpwatch on desk", instance: "docs", nowMs: atMs, standing });
      if (receiver === "mail")
        this.#add(atMs, receiver, message, { mail: mailParts(render(message)), body: null, edited: false });
      else if (receiver === "chat")
        this.#add(atMs, receiver, message, { mail: null, ...this.#chat(message) });
    }
  }

  #add(
    atMs: number,
    receiver: Sent["receiver"],
    message: Message,
    rest: Pick<Sent, "mail" | "body" | "edited">,
  ): void {
    this.sent.push({ atMs, receiver, message, ...rest });
  }

  #chat(message: Message): Pick<Sent, "body" | "edited"> {
    if (this.#root === undefined) {
      this.#root = message;
      return { body: discordBody(render(message), null), edited: false };
    }
    this.#since.push(message);
    if (!message.content.quiet) return { body: discordBody(render(message), null), edited: false };
    return { body: this.#first(this.#root), edited: true };
  }

  /** The end is marked in the first message of a chat. */
  finish(): void {
    const last = this.sent.findLast(({ receiver }) => receiver === "chat")!;
    this.sent.push({ ...last, body: this.#first(this.#root!), edited: true });
  }

  /** The first message of the chat as it stands now. */
  #first(root: Message): DiscordBody {
    const ended = this.#since.flatMap((one) => endingsIn(one, "UTC"));
    return editedBody(root, this.#since, ended, {}).body;
  }
}
