/** The far side of the desk's webhook: keeps each alert change of each message once, in the order of arrival. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { type Service, startService } from "../support/service.ts";
import type { Severity } from "./models.ts";

/** One alert change in one message, as docs/channels/webhook.md describes it. */
export interface Item {
  readonly message: string;
  readonly alert: number;
  /** fired, rose, fell, worsened, reminder, ended, … */
  readonly change: string;
  /** The time of the decision, daemon's clock, ms. */
  readonly atMs: number;
  /** The time of arrival here, the same clock, ms. */
  readonly arrivedMs: number;
  readonly rule: string;
  readonly subject: string;
  readonly wallet: string | null;
  readonly symbol: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly severity: Severity;
  readonly event: boolean;
  readonly ending: string | null;
  readonly lead: string;
  readonly summary: string;
  readonly description: string;
  readonly figures: Readonly<Record<string, string>>;
  readonly dataMs: number;
  readonly alreadySo: boolean;
}

interface Document {
  readonly id: string;
  readonly more: number;
  readonly alerts: readonly (Omit<Item, "message" | "alert" | "atMs" | "arrivedMs" | "dataMs"> & {
    readonly id: number;
    readonly at: string;
    readonly dataAt: string;
  })[];
}

export const secret = "desk-webhook-secret";

export class Receiver {
  readonly items: Item[] = [];
  /** Alert changes that a message only counts, without naming them. */
  unnamed = 0;
  /** Messages that came a second time. */
  copies = 0;
  messages = 0;
  /** Messages whose signature or form is wrong. */
  readonly broken: string[] = [];
  #service: Service | undefined;

  static async start(now: () => number): Promise<Receiver> {
    const receiver = new Receiver();
    const seen = new Set<string>();
    receiver.#service = await startService(({ headers, text, json, method }) => {
      if (method !== "POST") return { status: 200, body: "a webhook" };
      const id = String(headers["webhook-id"]);
      const signed = `${id}.${headers["webhook-timestamp"]}.${text}`;
      const own = Buffer.from(`v1,${createHmac("sha256", secret).update(signed).digest("base64")}`);
      const theirs = Buffer.from(String(headers["webhook-signature"]));
      if (own.length !== theirs.length || !timingSafeEqual(own, theirs)) {
        receiver.broken.push(`the signature of ${id} is wrong`);
        return { status: 401, body: "wrong signature" };
      }
      if (seen.has(id)) receiver.copies++;
      else {
        seen.add(id);
        receiver.#take(json as Document, now());
      }
      return { status: 202, body: "taken" };
    });
    return receiver;
  }

  get url(): string {
    return this.#service!.url;
  }

  #take(document: Document, arrivedMs: number): void {
    this.messages++;
    this.unnamed += document.more;
    for (const { id, at, dataAt, ...alert } of document.alerts) {
      const times = { atMs: Date.parse(at), dataMs: Date.parse(dataAt), arrivedMs };
      this.items.push({ ...alert, ...times, message: document.id, alert: id });
    }
  }

  async close(): Promise<void> {
    await this.#service?.close();
  }
}
