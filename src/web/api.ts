/** The JSON API under `/api/v1`. Authorization is checked before; some routes are for the owner only, over the socket. */
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { severities } from "../domain/alerts/alert.ts";
import type { Clock } from "../domain/clock.ts";
import type { DashboardSource, SessionOutcome } from "../domain/ports.ts";
import type { DaemonStatus } from "../domain/status.ts";
import { nearestName } from "../domain/text/nearest.ts";
import { cachedAnswer } from "./cached-answer.ts";
import type { QueryRunner } from "./limits/query-runner.ts";
import { parse } from "./parse.ts";
import { Refused } from "./refused.ts";
import { toWire } from "./wire.ts";

/** The answer of `GET /api/v1/status`. */
export interface StatusAnswer extends DaemonStatus {
  /** The daemon's clock at the time of the answer, ms; ages are relative to it. */
  readonly nowMs: number;
}

const name = z.string().min(1).max(200);
const limit = (max: number) => z.coerce.number().int().min(1).max(max);

const alertQuery = z.strictObject({
  state: z.enum(["firing", "ended"]).optional(),
  rule: name.optional(),
  wallet: name.optional(),
  severity: z.enum(severities).optional(),
  shadow: z.enum(["true", "false", ""]).optional(),
  limit: limit(1_000).default(100),
});
const alertId = z.strictObject({ id: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER) });
const silenceWish = z.strictObject({
  matchers: z.array(z.string().min(1).max(500)).min(1).max(20),
  upTo: z.enum(severities).optional(),
  author: name,
  comment: z.string().max(2_000).default(""),
  startsMs: z.number().optional(),
  endsMs: z.number(),
  /** True: only report what the silence would hold. */
  preview: z.boolean().optional(),
});
const expiry = z.strictObject({ by: name });
const acknowledgement = z.strictObject({ by: name, comment: z.string().max(2_000).default("") });

const auditWish = z.strictObject({ wallet: name.optional() });
const drillWish = z.strictObject({ channels: z.array(name).max(100).default([]), by: name });

const notificationQuery = z.strictObject({
  wallet: name.optional(),
  unacked: z.enum(["true", "false", ""]).optional(),
  limit: limit(5_000).default(200),
});
const selection = z.union([
  z.strictObject({ wallet: name, keys: z.array(z.string().min(1).max(300)).min(1).max(500) }),
  z.strictObject({ wallet: name, upToMs: z.int().min(0) }),
]);

/** One value or several: `?price=SOL=-10%&price=BTC=58000`. */
const texts = z
  .union([name, z.array(name).max(100)])
  .transform((value) => (typeof value === "string" ? [value] : value));
const maxUsd = 1e12;
const whatIfQuery = z.strictObject({
  wallet: name,
  account: name.optional(),
  price: texts.optional(),
  close: texts.optional(),
  deposit: z.coerce.number().min(-maxUsd).max(maxUsd).optional(),
});

/** Without receivers the digest is only returned. */
const digestWish = z.strictObject({ receivers: z.array(name).max(50).default([]) });

export interface ApiOptions {
  readonly source: DashboardSource;
  readonly clock: Clock;
  /** Runs queries that read large parts of the database. */
  readonly runQuery: QueryRunner;
  /** True: the status may be up to a second old. */
  readonly cached: boolean;
}

export function serveApi(app: FastifyInstance, options: ApiOptions): void {
  const { source, clock, runQuery, cached } = options;
  const status = (): string => toWire({ ...source.status(), nowMs: clock.nowMs() } satisfies StatusAnswer);
  const statusText = cached ? cachedAnswer(clock, status) : status;
  app.get("/api/v1/status", async (_request, reply) => {
    reply.type("application/json; charset=utf-8").serializer((text: string) => text);
    return statusText();
  });

  app.get("/api/v1/alerts", async (request) => {
    const { shadow, ...query } = withoutUndefined(parse(alertQuery, request.query, "query"));
    const wanted = {
      ...query,
      // `?shadow` without a value means true.
      ...(shadow === undefined || shadow === "false" ? {} : { shadow: true }),
      limit: query.limit ?? 100,
    };
    const alerts = await runQuery(request, () => source.alerts(wanted));
    return { alerts, nowMs: clock.nowMs() };
  });

  app.get("/api/v1/alerts/:id", async (request) => {
    const { id } = parse(alertId, request.params, "path");
    const story = await runQuery(request, () => source.alert(id));
    return { ...orNotFound(story, `there is no alert ${id}`), nowMs: clock.nowMs() };
  });

  app.get<{ Params: { rule: string } }>("/api/v1/rules/:rule/explanation", async (request) => {
    const { rule } = request.params;
    const { subject = null } = parse(z.strictObject({ subject: name.optional() }), request.query, "query");
    const answer = source.explain(rule, subject);
    switch (answer.kind) {
      case "explained":
      case "builtIn":
        return answer.explanation;
      case "eventRule":
        throw new Refused(409, `${rule} is a rule on events: those are judged once, when they happen`);
      case "noRule":
        throw new Refused(404, `no rule is called ${rule}${suggestion(rule, answer.known)}`);
      case "noSubject":
        throw new Refused(404, noSubject(rule, subject, answer.known));
    }
  });

  app.get("/api/v1/silences", async () => ({ silences: source.silences(), nowMs: clock.nowMs() }));

  app.get("/api/v1/notifications", async (request) => {
    const { wallet, unacked, limit: max } = parse(notificationQuery, request.query, "query");
    const wanted = {
      ...(wallet === undefined ? {} : { wallet }),
      // `?unacked` without a value means true.
      unacked: unacked !== undefined && unacked !== "false",
      limit: max,
    };
    const rows = await runQuery(request, () => source.notifications(wanted));
    return { notifications: orNotFound(rows, `no wallet is called ${wallet}`) };
  });

  serveChanges(app, options);
  serveWhatIf(app, options);
}

function serveWhatIf(app: FastifyInstance, { source, clock, runQuery }: ApiOptions): void {
  app.get("/api/v1/what-if", async (request) => {
    const {
      wallet,
      account = null,
      price = [],
      close = [],
      deposit = 0,
    } = parse(whatIfQuery, request.query, "query");
    const question = { wallet, account, prices: price, closes: close, depositUsd: deposit };
    const outcome = await runQuery(request, async () => source.whatIf(question));
    switch (outcome.kind) {
      case "done":
        return { ...outcome.answer, nowMs: clock.nowMs() };
      case "wrong":
        throw new Refused(400, outcome.problem);
      case "noWallet":
        throw new Refused(404, `no wallet is called ${wallet}`);
      case "unread":
        throw new Refused(503, outcome.problem);
    }
  });
}

function serveChanges(app: FastifyInstance, { source }: ApiOptions): void {
  app.post("/api/v1/alerts/:id/ack", async (request) => {
    const { id } = parse(alertId, request.params, "path");
    const { by, comment } = parse(acknowledgement, request.body, "body");
    const result = await source.acknowledgeAlert(id, by, comment);
    if (result === "unknown") throw new Refused(404, `there is no alert ${id}`);
    if (result === "ended") throw new Refused(409, `alert ${id} has ended; there is nothing to acknowledge`);
    return { result };
  });

  app.post("/api/v1/silences", async (request) => {
    const { preview, matchers, author, comment, endsMs, ...when } = parse(silenceWish, request.body, "body");
    const wish = { matchers, author, comment, endsMs, ...withoutUndefined(when) };
    const outcome = await source.silence(wish, preview === true);
    if (outcome.kind === "wrong") throw new Refused(400, outcome.problem);
    return { silence: outcome.silence, holds: outcome.holds };
  });

  app.post("/api/v1/silences/:id/expire", async (request) => {
    const { id } = parse(alertId, request.params, "path");
    const { by } = parse(expiry, request.body, "body");
    const result = await source.expireSilence(id, by);
    if (result === "unknown") throw new Refused(404, `there is no silence ${id}`);
    if (result === "over") throw new Refused(409, `silence ${id} is over already`);
    return { result };
  });

  app.post("/api/v1/notifications/ack", async (request) => {
    const what = parse(selection, request.body, "body");
    return orNotFound(await source.acknowledgeNotifications(what), `no wallet is called ${what.wallet}`);
  });

  app.post("/api/v1/notifications/audit", async (request) => {
    const { wallet } = parse(auditWish, request.body, "body");
    const audits = await source.auditNotifications(wallet);
    return { audits: orNotFound(audits, `no wallet with a session is called ${wallet}`) };
  });

  app.post("/api/v1/drill", async (request) => {
    const { channels, by } = parse(drillWish, request.body, "body");
    const outcome = await source.drill(channels, by);
    if (outcome.kind === "unknown") throw new Refused(404, `no channel is called ${outcome.channel}`);
    if (outcome.kind === "degraded")
      throw new Refused(503, "history takes no commits now, so a drill could not be followed");
    const { alertId, channels: sentTo, withinMs } = outcome;
    return { alertId, channels: sentTo, withinMs };
  });

  app.post<{ Params: { name: string } }>("/api/v1/channels/:name/test", async (request, reply) => {
    const channel = request.params.name;
    const outcome = orNotFound(await source.testChannel(channel), `no channel is called ${channel}`);
    if (outcome.kind === "delivered") return outcome;
    reply.code(502);
    return { error: `${channel} did not take it (${outcome.failure}): ${outcome.detail}`, ...outcome };
  });

  app.post("/api/v1/digest", async (request) => {
    const { receivers } = parse(digestWish, request.body, "body");
    const answer = await source.digest(receivers);
    if (answer.kind === "unknown") throw new Refused(404, `no channel is called ${answer.channel}`);
    return answer;
  });

  app.post("/api/v1/history/compact", () => source.compactHistory());

  for (const act of ["login", "logout"] as const) {
    app.post<{ Params: { name: string } }>(`/api/v1/wallets/:name/${act}`, async (request) => {
      const wallet = request.params.name;
      return sessionAnswer(
        wallet,
        act,
        orNotFound(await source[act](wallet), `no wallet is called ${wallet}`),
      );
    });
  }
}

function sessionAnswer(wallet: string, act: string, outcome: SessionOutcome) {
  if (outcome.kind === "done") return { result: outcome.kind, detail: outcome.detail };
  if (outcome.kind === "watchOnly") {
    throw new Refused(409, `${wallet} has no key here, so it has no session: it is only watched`);
  }
  throw new Refused(502, `${act} of ${wallet} failed: ${outcome.detail}`);
}

function suggestion(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return nearest === null ? "" : `; did you mean ${nearest}?`;
}

const maxListed = 10;

function noSubject(rule: string, subject: string | null, known: readonly string[]): string {
  if (subject !== null) return `${rule} judges no ${subject} now${otherSubjects(known)}`;
  if (known.length === 0) return `${rule} judges nothing now`;
  return `say which with --subject: ${rule} judges ${listText(known)}`;
}

function otherSubjects(known: readonly string[]): string {
  if (known.length === 0) return ", and nothing else";
  return `; it judges ${listText(known)}`;
}

function listText(known: readonly string[]): string {
  const more = known.length > maxListed ? ` and ${known.length - maxListed} more` : "";
  return `${known.slice(0, maxListed).join(", ")}${more}`;
}

function orNotFound<T>(value: T | null, otherwise: string): T {
  if (value === null) throw new Refused(404, otherwise);
  return value;
}

/** Returns the object without undefined members. */
function withoutUndefined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
