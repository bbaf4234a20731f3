/** `perpwatch notifications`: lists the exchange's notifications of wallets, and acknowledges them there. */
import type { Command } from "commander";
import type { Event } from "../../domain/event.ts";
import { differenceWords, type InboxAudit } from "../../domain/inbox.ts";
import type { ManualAcknowledgement, NotificationRow, NotificationSelection } from "../../domain/ports.ts";
import type { DaemonStatus } from "../../domain/status.ts";
import { formatTime } from "../../domain/text/time-text.ts";
import {
  type Cli,
  CommandFailed,
  type CommonOptions,
  declare,
  declareGroup,
  print,
  printJson,
} from "../command.ts";
import { locate, type Place } from "../configuration.ts";
import { ask, askAbout, noDaemon, queryOf } from "../daemon.ts";
import { withHistory } from "../history-reading.ts";
import { counted, type Paint, paintFor } from "../terminal/print.ts";
import { table } from "../terminal/table.ts";
import { integerFrom, timeFrom } from "../terminal/values.ts";

interface ListOptions extends CommonOptions {
  readonly wallet?: string;
  readonly unacked?: boolean;
  readonly limit: number;
}

interface AckOptions extends CommonOptions {
  readonly wallet?: string;
  readonly upTo?: number;
}

/** Prefix of the keys of notifications; it can be left out. */
const keyPrefix = "notification:";

export function notificationsCommand(program: Command, cli: Cli): void {
  const group = declareGroup(
    program,
    "notifications",
    "list the exchange's notifications, acknowledge them there",
    [
      "notifications --wallet main --unacked",
      "notifications ack event:412:3:0:1:0",
      "notifications ack --wallet main --up-to 2026-03-01T12:00:00Z",
    ],
  );
  declare(group, {
    usage: "list",
    summary: "list notifications, newest first (what `notifications` alone does)",
    examples: ["notifications list --wallet main --unacked"],
    isDefault: true,
  })
    .option("--wallet <name>", "only of this wallet")
    .option("--unacked", "only those that are not acknowledged at the exchange, as far as is known here")
    .option("--limit <n>", "at most so many", integerFrom(1, 5_000), 50)
    .action((options: ListOptions) => list(cli, options));
  declare(group, {
    usage: "audit",
    summary:
      "hold the exchange's list of notifications against what is stored, delivered and acknowledged here",
    about:
      "Reports every difference, and mends what can be mended: what is not stored is fetched, what is open at the exchange\n" +
      "though it was acknowledged is acknowledged again, by item. Says of each that is left unacknowledged why. The daemon\n" +
      "does the same on its own every hour (acknowledge.audit). Exits 1 when an inbox could not be read.",
    examples: ["notifications audit", "notifications audit --wallet main"],
  })
    .option("--wallet <name>", "only of this wallet")
    .action((options: AuditOptions) => audit(cli, options));
  declare(group, {
    usage: "ack [ids...]",
    summary: "acknowledge notifications at the exchange, by id or up to a time",
    about:
      "Either ids as `notifications` lists them, or --up-to: all of the wallet that were seen here and happened until\n" +
      "then. They are acknowledged one by one, so that nothing is acknowledged that nobody has seen.",
    examples: ["notifications ack event:412:3:0:1:0", "notifications ack --wallet main --up-to 1h"],
  })
    .option("--wallet <name>", "whose; needed when more than one is configured")
    .option("--up-to <time>", "2026-03-01T12:00:00Z, now, 1h (before now), or Unix milliseconds", (text) =>
      timeFrom(text, Date.now()),
    )
    .action((ids: string[], options: AckOptions) => acknowledge(cli, ids, options));
}

interface AuditOptions extends CommonOptions {
  readonly wallet?: string;
}

async function audit(cli: Cli, { wallet, json, config }: AuditOptions): Promise<void> {
  const place = await locate(cli, config);
  const body = wallet === undefined ? {} : { wallet };
  const asking = ask<{ audits: readonly InboxAudit[] }>(place, "POST", "/api/v1/notifications/audit", body);
  const answer = await (wallet === undefined ? asking : askAbout(place, "wallet", wallet, asking));
  if (answer.kind === "noDaemon") throw noDaemon(place);
  const { audits } = answer.body;
  if (audits.some(({ failure }) => failure !== null)) cli.status = 1;
  if (json) return printJson(cli, { audits });
  const paint = paintFor(cli.out);
  const time = (ms: number) => formatTime(ms, place.timezone);
  print(cli, audits.map((one) => auditText(one, time, paint)).join("\n\n") || "No wallet has an inbox.");
}

function auditText(
  { wallet, failure, there, differences, left }: InboxAudit,
  time: (ms: number) => string,
  paint: Paint,
): string {
  if (failure !== null) return paint("red", `${wallet}: its inbox could not be read: ${failure}`);
  const head =
    `${wallet}: ${counted(there, "notification")} at the exchange, ` +
    `${counted(differences.length, "difference")}, ${left.length} left unacknowledged`;
  const parts = [paint("bold", head)];
  if (differences.length > 0) {
    const rows = differences.map(({ kind, key, type, happenedMs, done, lasting }) => [
      ...[time(happenedMs), type, shortKey(key), paint("yellow", differenceWords[kind])],
      lasting ? paint("red", "again") : "new",
      done,
    ]);
    parts.push(table(["happened", "type", "id", "difference", "found", "what was done"], rows, paint));
  }
  if (left.length > 0) {
    const rows = left.map(({ key, type, happenedMs, why }) => [time(happenedMs), type, shortKey(key), why]);
    parts.push(table(["happened", "type", "id", "left because"], rows, paint));
  }
  return parts.join("\n");
}

async function list(cli: Cli, options: ListOptions): Promise<void> {
  const place = await locate(cli, options.config);
  const { wallet, limit } = options;
  const unacked = options.unacked === true;
  const path = `/api/v1/notifications${queryOf({ wallet, unacked, limit })}`;
  const asking = ask<{ notifications: readonly NotificationRow[] }>(place, "GET", path);
  const answer = await (wallet === undefined ? asking : askAbout(place, "wallet", wallet, asking));
  const running = answer.kind === "answered";
  const notifications = running
    ? answer.body.notifications
    : await withHistory(cli, place, async (history) => {
        const { notificationRows } = await import("../../daemon/answers/notification-rows.ts");
        return notificationRows(history, { ...(wallet === undefined ? {} : { wallet }), unacked, limit });
      });
  if (options.json) {
    const listed = notifications.map((row) => ({
      id: shortKey(row.event.key),
      ...figuresOf(row.event),
      ...row,
    }));
    return printJson(cli, { running, notifications: listed });
  }
  if (notifications.length === 0)
    return print(cli, unacked ? "No unacknowledged notifications." : "No notifications.");
  const { formatAmount, formatPrice } = await import("../../rules/format.ts");
  const paint = paintFor(cli.out);
  const rows = notifications.map(({ event, acknowledgement }) => {
    const { symbol, side, size, price } = figuresOf(event);
    return [
      formatTime(event.happenedMs, place.timezone),
      event.wallet ?? "everybody",
      event.inbox?.notificationType ?? "–",
      symbol ?? "",
      side ?? "",
      size === null ? "" : formatAmount(size),
      price === null ? "" : formatPrice(price),
      standing({ event, acknowledgement }, paint),
      shortKey(event.key),
      textOf(event),
    ];
  });
  const right = (title: string) => ({ title, right: true });
  const about = ["type", "symbol", "side", right("size"), right("price")];
  print(
    cli,
    table(["happened", "wallet", ...about, "acknowledged", "id", { title: "text", text: true }], rows, paint),
  );
  if (notifications.length === limit) print(cli, `\nThe newest ${limit}; --limit shows more.`);
}

function standing({ event, acknowledgement }: NotificationRow, paint: Paint): string {
  if (acknowledgement?.status === "confirmed") return paint("green", "yes");
  if (event.inbox?.acked === true) return paint("green", "yes, elsewhere");
  switch (acknowledgement?.status) {
    case "waiting":
      return paint("yellow", "waits until handled");
    case "due":
      return paint("yellow", "being acknowledged");
    case "left":
      return "no, left as it is";
    default:
      return "no";
  }
}

function shortKey(key: string): string {
  return key.startsWith(keyPrefix) ? key.slice(keyPrefix.length) : key;
}

/** The traded figures that the notification states; size in units, price in USD. */
function figuresOf({ symbol, fields }: Event) {
  const number = (value: unknown) => (typeof value === "number" ? value : null);
  const side = typeof fields.side === "string" ? fields.side : null;
  return { symbol, side, size: number(fields.size), price: number(fields.price) };
}

function textOf({ fields }: Event): string {
  const text = [fields.title, fields.body].find((one) => typeof one === "string" && one !== "");
  return typeof text === "string" ? text : "";
}

async function acknowledge(cli: Cli, ids: readonly string[], options: AckOptions): Promise<void> {
  const { upTo } = options;
  if (ids.length > 0 === (upTo !== undefined))
    throw new CommandFailed("name ids, or a time with --up-to; one of the two", 2);
  const place = await locate(cli, options.config);
  const wallet = options.wallet ?? (await onlyWallet(place));
  const keys = ids.map((id) => (id.startsWith(keyPrefix) ? id : keyPrefix + id));
  const selection: NotificationSelection = upTo === undefined ? { wallet, keys } : { wallet, upToMs: upTo };
  const asking = ask<ManualAcknowledgement>(place, "POST", "/api/v1/notifications/ack", selection);
  const answer = await askAbout(place, "wallet", wallet, asking);
  if (answer.kind === "noDaemon") throw noDaemon(place);
  const { confirmed, already, unknown, failed } = answer.body;
  if (failed.length > 0 || (keys.length > 0 && unknown.length > 0)) cli.status = 1;
  if (options.json) return printJson(cli, { wallet, ...answer.body });
  const done = [
    ...(confirmed.length > 0
      ? [`${counted(confirmed.length, "notification")} acknowledged at the exchange`]
      : []),
    ...(already.length > 0
      ? [`${counted(already.length, "notification")} had been acknowledged before`]
      : []),
  ];
  if (done.length + unknown.length + failed.length === 0)
    done.push("there was no notification to acknowledge");
  if (done.length > 0) print(cli, `${wallet}: ${done.join(", ")}`);
  const paint = paintFor(cli.out);
  for (const key of unknown)
    print(cli, paint("red", `${shortKey(key)}: there is no such notification of ${wallet}`));
  for (const { key, detail } of failed) print(cli, paint("red", `${shortKey(key)}: ${detail}`));
}

async function onlyWallet(place: Place): Promise<string> {
  const answer = await ask<DaemonStatus>(place, "GET", "/api/v1/status");
  if (answer.kind === "noDaemon") throw noDaemon(place);
  const names = answer.body.watch.wallets.filter((one) => !one.watchOnly).map((one) => one.name);
  const [only] = names;
  if (only !== undefined && names.length === 1) return only;
  throw new CommandFailed(
    `say whose with --wallet; notifications are read of ${names.join(", ") || "none"}`,
    2,
  );
}
