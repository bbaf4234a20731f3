/** GoAlert's generic API for one integration key, as strict as its documentation: what that does not name is refused. */
import { z } from "zod";
import { wrong } from "./dialects.ts";
import type { Dialect } from "./service.ts";

const body = z.strictObject({
  // Longer ones are cut there.
  summary: z.string().min(1).max(118),
  details: z.string().max(6_144).default(""),
  dedup: z.string().min(1).max(512).optional(),
  action: z.literal("close").optional(),
});

export interface GoAlertAlert {
  readonly key: string;
  readonly summary: string;
  readonly details: string;
}

export class GoAlert {
  readonly #token: string;
  readonly #open = new Map<string, GoAlertAlert>();

  constructor(token: string) {
    this.#token = token;
  }

  get open(): readonly GoAlertAlert[] {
    return [...this.#open.values()];
  }

  readonly dialect: Dialect = ({ method, path, headers, json, text }, take) => {
    const { pathname, searchParams } = new URL(path, "http://goalert");
    if (pathname !== "/api/v2/generic/incoming") return wrong(404, "404 page not found");
    if (method !== "POST") return wrong(405, "Method Not Allowed");
    if (searchParams.get("token") !== this.#token) return wrong(401, "unauthorized");
    if (headers["content-type"] !== "application/json") return wrong(400, "invalid value for 'Summary'");
    const read = body.safeParse(json);
    if (!read.success) return wrong(400, read.error.message);
    const { summary, details, action, dedup = `${summary}\n${details}` } = read.data;
    if (action === "close") this.#open.delete(dedup);
    else if (!this.#open.has(dedup)) this.#open.set(dedup, { key: dedup, summary, details });
    take(text);
    return { status: 204 };
  };
}
