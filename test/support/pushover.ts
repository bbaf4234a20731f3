/** Pushover's API as a channel calls it, as strict as it is, and the phone of a user. */
import { z } from "zod";
import { wrong } from "./dialects.ts";
import type { Asked, Dialect, Reply } from "./service.ts";
import { Watched } from "./wait.ts";

const messageBody = z.strictObject({
  token: z.string(),
  user: z.string(),
  device: z.string().optional(),
  title: z.string().max(250).optional(),
  message: z.string().min(1).max(1_024),
  priority: z.int().min(-2).max(2).optional(),
  retry: z.int().min(30).optional(),
  expire: z.int().min(1).max(10_800).optional(),
  timestamp: z.int().optional(),
  url: z.url().max(512).optional(),
  url_title: z.string().max(100).optional(),
});
const validateBody = z.strictObject({ token: z.string(), user: z.string(), device: z.string().optional() });

export interface Push {
  readonly title: string;
  readonly message: string;
  readonly priority: number;
  readonly retry: number | null;
  readonly expire: number | null;
  /** Only an emergency has one. */
  readonly receipt: string | null;
  acknowledgedBy: { readonly user: string; readonly device: string } | null;
  cancelled: boolean;
  readonly expiresAtMs: number;
  readsAtMs: number[];
}

export interface PushoverOptions {
  readonly token: string;
  readonly user: string;
  readonly nowMs?: () => number;
}

const least = 5_000;

export class Pushover {
  readonly #options: PushoverOptions;
  readonly pushes = new Watched<Push>();
  /** Reads of a receipt that came earlier than Pushover allows. */
  tooEarly = 0;
  #count = 0;

  constructor(options: PushoverOptions) {
    this.#options = options;
  }

  readonly dialect: Dialect = (asked, take) => {
    const { method, path } = asked;
    const url = new URL(path, "http://pushover");
    if (method === "POST" && url.pathname === "/1/messages.json") return this.#message(asked, take);
    if (method === "POST" && url.pathname === "/1/users/validate.json") {
      const body = validateBody.safeParse(asked.json);
      return this.#refused(body.data) ?? this.#ok({ devices: ["phone"], licenses: ["Android"] });
    }
    const [, receipt = "", action] = /^\/1\/receipts\/(\w+)(\/cancel)?\.json$/.exec(url.pathname) ?? [];
    const push = this.pushes.items.find((one) => one.receipt === receipt);
    const token =
      action === undefined ? url.searchParams.get("token") : (asked.json as { token?: string }).token;
    if (token !== this.#options.token)
      return this.#invalid({ token: "invalid" }, "application token is invalid");
    if (push === undefined)
      return this.#invalid({ receipt: "not found" }, "receipt not found; may be invalid or expired", 404);
    if (action === undefined) return method === "GET" ? this.#state(push) : wrong(405, "GET only");
    if (method !== "POST") return wrong(405, "POST only");
    push.cancelled = true;
    this.pushes.changed();
    return this.#ok({});
  };

  /** Somebody takes the phone and acknowledges an emergency. */
  acknowledge(push: Push, device: string): void {
    push.acknowledgedBy = { user: this.#options.user, device };
  }

  #now(): number {
    return this.#options.nowMs?.() ?? Date.now();
  }

  #refused(body: { readonly token: string; readonly user: string } | undefined): Reply | null {
    if (body === undefined) return this.#invalid({ message: "invalid" }, "message is invalid");
    if (body.token !== this.#options.token)
      return this.#invalid({ token: "invalid" }, "application token is invalid");
    if (body.user !== this.#options.user)
      return this.#invalid({ user: "invalid" }, "user identifier is invalid");
    return null;
  }

  #invalid(what: object, error: string, status = 400): Reply {
    return { status, body: { ...what, errors: [error], status: 0, request: this.#request() } };
  }

  #ok(more: object): Reply {
    return { status: 200, body: { status: 1, request: this.#request(), ...more } };
  }

  #request(): string {
    return `5042853c-402d-4a18-abcb-${String(++this.#count).padStart(12, "0")}`;
  }

  #message({ json }: Asked, take: (text: string) => void): Reply {
    const body = messageBody.safeParse(json);
    const refused = this.#refused(body.data);
    if (refused !== null || body.data === undefined) return refused!;
    const { title = "", message, priority = 0, retry, expire } = body.data;
    const isEmergency = priority === 2;
    if (isEmergency && (retry === undefined || expire === undefined))
      return this.#invalid(
        { retry: "missing", expire: "missing" },
        "retry and expire must be supplied for emergency priority",
      );
    take(`${title}\n${message}`);
    const receipt = isEmergency ? `rcpt${String(++this.#count).padStart(26, "0")}` : null;
    this.pushes.add({
      ...{ title, message, priority, receipt, acknowledgedBy: null, cancelled: false, readsAtMs: [] },
      ...{ retry: retry ?? null, expire: expire ?? null },
      expiresAtMs: this.#now() + (expire ?? 0) * 1_000,
    });
    return this.#ok(receipt === null ? {} : { receipt });
  }

  #state(push: Push): Reply {
    const now = this.#now();
    if (now - (push.readsAtMs.at(-1) ?? Number.NEGATIVE_INFINITY) < least) this.tooEarly++;
    push.readsAtMs.push(now);
    this.pushes.changed();
    const by = push.acknowledgedBy;
    return this.#ok({
      acknowledged: by === null ? 0 : 1,
      acknowledged_at: by === null ? 0 : Math.floor(now / 1_000),
      acknowledged_by: by?.user ?? "",
      acknowledged_by_device: by?.device ?? "",
      last_delivered_at: Math.floor(now / 1_000),
      expired: now >= push.expiresAtMs ? 1 : 0,
      expires_at: Math.floor(push.expiresAtMs / 1_000),
      ...{ called_back: 0, called_back_at: 0 },
    });
  }
}
