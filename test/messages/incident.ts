/** The messages of one incident as they leave: judged, gathered, finalized and rendered by the code that runs live. */
import { editedBody } from "../../src/channels/discord/edited.ts";
import { type DiscordBody, discordBody } from "../../src/channels/discord/render.ts";
import { mailParts } from "../../src/channels/email/render.ts";
import { render } from "../../src/channels/message.ts";
import { FiringLists } from "../../src/deliver/message/firing-lists.ts";
import { makeMessage } from "../../src/deliver/message/make-message.ts";
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import type { Capacity, DeliveryItem, Message } from "../../src/domain/alerts/delivery.ts";
import { Delivery, type ReplayedMessage } from "../../src/replay/delivery.ts";
import { type Holding, minute, second, World } from "./world.ts";

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

const accounts: Readonly<Record<string, Holding>> = {
  north: { collateral: 2_900, positions: { SOL: [100, 150], BTC: [0.02, 72_000] } },
  south: { collateral: 3_020, positions: { ETH: [5, 2_900] } },
  east: { collateral: 2_900, positions: { BTC: [0.2, 67_000] } },
};

/** The messages to a chat that edits, and to a mailbox. */
export function sentOfIncident(): readonly Sent[] {
  const world = new World({ SOL: { mark: 175 }, ETH: { mark: 3_200 }, BTC: { mark: 72_000 } }, accounts, {
    labels: { desk: "alpha" },
    pack: "liquidation-risk",
    routing: { receivers: ["chat", "mail"] },
    capacities,
  });
  const play = new Play(world);
  const pass = (ms: number): void => {
    for (let passed = 0; passed < ms; passed += second) {
      world.pass(second);
      play.take();
    }
  };
  pass(10 * second);
  world.set({ SOL: { mark: 132 } });
  pass(20 * second);
  world.set({ ETH: { mark: 2_500 } });
  pass(2 * second);
  world.set({ BTC: { mark: 56_800 } });
  pass(30 * second);
  world.set({ SOL: { mark: 131.2 } });
  pass(5 * minute);
  for (const wallet of Object.keys(accounts)) world.acknowledge("LiquidationNear", "ana", wallet);
  pass(30 * second);
  world.set({ SOL: { mark: 175 }, ETH: { mark: 3_200 }, BTC: { mark: 72_000 } });
  pass(4 * minute);
  play.finish();
  return play.sent;
}

class Play {
  readonly sent: Sent[] = [];
  readonly #world: World;
  readonly #items = new Map<string, DeliveryItem>();
  readonly #changes = new Map<number, AlertChange>();
  readonly #since: Message[] = [];
  #root: Message | undefined;
  #handled = 0;
  readonly #standing: FiringLists;
  readonly #delivery: Delivery;

  constructor(world: World) {
    this.#world = world;
    this.#standing = new FiringLists((id) => world.watch.present(id, world.nowMs));
    this.#delivery = new Delivery({
      stormFold: 100,
      capacities,
      onMessage: (message) => this.#leaves(message),
    });
  }

  /** Takes what was decided, and what left by then. */
  take(): void {
    const { all, nowMs } = this.#world;
    for (; this.#handled < all.length; this.#handled++) {
      const { deliveryItems: owed, alertChanges } = all[this.#handled]!;
      for (const change of alertChanges) this.#changes.set(change.id, change);
      const items = owed.map((item) => ({ item, change: this.#changes.get(item.changeId)! }));
      for (const { item, change } of items) {
        this.#items.set(`${item.changeId} ${item.receiver}`, item);
        this.#standing.note(item, change);
      }
      for (const { kind, alertId } of alertChanges) if (kind === "ended") this.#standing.over(alertId);
      this.#delivery.addPending(
        items,
        Math.max(...owed.map(({ owedAtMs }) => owedAtMs), Number.NEGATIVE_INFINITY),
      );
    }
    this.#delivery.sendUntil(nowMs);
  }

  #leaves({ atMs, receiver, covers }: ReplayedMessage): void {
    const told = covers.map((change) => ({ change, item: this.#items.get(`${change.id} ${receiver}`)! }));
    const standing = this.#standing.beside(told, atMs);
    const message = makeMessage(told, {
      sender: "perpwatch on desk",
      instance: "docs",
      nowMs: atMs,
      standing,
    });
    if (receiver === "mail")
      this.#add(atMs, receiver, message, { mail: mailParts(render(message)), body: null, edited: false });
    else if (receiver === "chat") this.#add(atMs, receiver, message, { mail: null, ...this.#chat(message) });
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
    return editedBody(root, this.#since, {}).body;
  }
}
