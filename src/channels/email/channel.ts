/**
 * Email over one pooled SMTP connection, one mail at a time.
 *
 * nodemailer's default timeouts are 30 s for a greeting and 10 min for a silent server. Here each phase has its own
 * limit, and an aborted attempt closes its connection at once. A mail that the server refused for some recipients
 * counts as delivered, because a retry would repeat it to the others. The refused recipients are named in the receipt
 * and in the log.
 *
 * A retry after an unknown outcome sends the same mail byte for byte (except for a note that it is late): same
 * Message-ID, date, boundaries and picture.
 */
import { createTransport } from "nodemailer";
import type { Capacity, Message } from "../../domain/alerts/delivery.ts";
import type { Channel, Outgoing, ProbeResult, SendResult } from "../channel.ts";
import type { ChannelLog } from "../log.ts";
import type { CommandLine } from "../message/command-line.ts";
import { cleanLine, shorten, withoutSecrets } from "../message/text.ts";
import { render } from "../message.ts";
import { type Draw, MailCharts } from "./chart.ts";
import { type MailError, mailFailure, mailFix } from "./failures.ts";
import { mailParts } from "./render.ts";
import type { EmailSettings } from "./settings.ts";

export interface EmailDeps {
  readonly log: ChannelLog;
  readonly timezone: string;
  readonly commandLine?: CommandLine;
  /** Draws charts, for tests. */
  readonly draw?: Draw;
  /** Time limits in ms, for tests. */
  readonly limits?: Partial<EmailLimits>;
}

export interface EmailLimits {
  readonly connectMs: number;
  readonly greetingMs: number;
  /** Maximum silence of the server, in any phase. */
  readonly silenceMs: number;
  /** Maximum duration of one attempt. */
  readonly deadlineMs: number;
}

const defaultLimits: EmailLimits = {
  connectMs: 5_000,
  greetingMs: 5_000,
  silenceMs: 10_000,
  deadlineMs: 20_000,
};

/** Number of alert lines whose HTML mail programs show completely. */
export const emailCapacity: Capacity = { maxNamed: 300 };

type Transport = ReturnType<typeof openTransport>;

export function createEmail(name: string, settings: EmailSettings, deps: EmailDeps): Channel {
  const { smtp, from, to } = settings;
  const limits = { ...defaultLimits, ...deps.limits };
  const secrets = smtp.password === undefined ? [] : [smtp.password];
  const withoutPassword = (text: string) => withoutSecrets(text, secrets);
  const domain = /@([^<>@\s]+?)>?$/.exec(from)?.[1] ?? "localhost";
  const idOf = (messageId: string) => `<${messageId}@${domain}>`;
  const leaving = unsubscribeUrl(settings, name);
  const charts = new MailCharts(deps);
  let transport: Transport | undefined;
  const open = () => {
    transport ??= openTransport(settings, limits);
    return transport;
  };

  const probe = async (signal: AbortSignal): Promise<ProbeResult> => {
    try {
      await withSignal(open().verify(), signal);
      const suffix = smtp.secure === false ? ", without encryption" : "";
      return { kind: "ok", detail: `${smtp.host} takes mail from ${cleanLine(from)}${suffix}` };
    } catch (error) {
      const problem: MailError = signal.aborted
        ? { message: "no answer in time", code: "ETIMEDOUT" }
        : asMailError(error);
      const { failure, detail } = mailFailure(problem, withoutPassword);
      return { kind: "failed", failure, detail, fix: mailFix(problem, smtp.secure) };
    }
  };

  const send = async ({ message, inReplyTo, late }: Outgoing, signal: AbortSignal): Promise<SendResult> => {
    signal.throwIfAborted();
    const chartPicture = await charts.of(message, signal);
    const cid = `chart.${message.id}@${domain}`;
    const chart = chartPicture && {
      alertId: chartPicture.alertId,
      url: `cid:${cid}`,
      words: chartPicture.words,
    };
    const parts = mailParts(render(message, deps, late), chart);
    // An attachment that the HTML does not show would appear as a file.
    const shown = chartPicture !== null && parts.html.includes(`"cid:${cid}"`);
    const first = inReplyTo === null ? null : idOf(inReplyTo.messageId);
    // No mail has these ids. Mail programs group mails that refer to the same id, whichever of them arrive.
    const threads = (message.content.threads ?? []).map((thread) => `<thread.${thread}@${domain}>`);
    const references = [...threads, ...(first === null ? [] : [first])];
    const controller = new AbortController();
    const abort = () => controller.abort();
    signal.addEventListener("abort", abort, { once: true });
    const timer = setTimeout(abort, limits.deadlineMs);
    try {
      const info = await open().sendMail({
        ...parts,
        ...(shown ? { attachments: [inline(chartPicture.png, cid)] } : {}),
        // nodemailer's default boundary is random, so retries would differ.
        baseBoundary: message.id,
        from,
        to: [...to],
        messageId: idOf(message.id),
        date: new Date(message.sealedAtMs),
        priority: isUrgent(message) ? "high" : "normal",
        headers: { "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All" },
        list: {
          id: { comment: `perpwatch ${name}`, url: `${name.toLowerCase()}.perpwatch.${domain}` },
          unsubscribe: { url: leaving, comment: "" },
        },
        signal: controller.signal,
        ...(first === null ? {} : { inReplyTo: first }),
        ...(references.length === 0 ? {} : { references }),
      });
      const refused = info.rejected.map((one) => cleanLine(one));
      if (refused.length > 0) {
        deps.log.warn(
          { messageId: message.id, refused },
          "the mail server refused some recipients of a mail",
        );
      }
      const tail = refused.length > 0 ? ` (refused: ${refused.join(", ")})` : "";
      return { kind: "delivered", receipt: shorten(withoutPassword(info.response) + tail, 500) };
    } catch (error) {
      signal.throwIfAborted();
      if (controller.signal.aborted) {
        const detail = `the mail server did not take the mail within ${limits.deadlineMs / 1_000} s`;
        return { kind: "retry", failure: "timeout", detail, afterMs: null };
      }
      return mailFailure(asMailError(error), withoutPassword);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    }
  };

  return {
    name,
    kind: "email",
    ...emailCapacity,
    deadlineMs: limits.deadlineMs,
    drawsCharts: true,
    start: probe,
    probe,
    send,
    async stop() {
      transport?.close({ force: true });
      transport = undefined;
    },
  };
}

function inline(content: Buffer, cid: string) {
  const shown = { contentType: "image/png", contentDisposition: "inline" } as const;
  return { filename: "chart.png", content, cid, ...shown };
}

/** Returns a page's URL as it is, or a mailto URL whose subject names the channel. */
function unsubscribeUrl({ unsubscribe, from }: EmailSettings, name: string): string {
  if (unsubscribe !== undefined && /^https?:/i.test(unsubscribe)) return new URL(unsubscribe).href;
  const address = /([^<>@\s]+@[^<>@\s]+?)>?$/.exec(unsubscribe ?? from)?.[1] ?? "";
  const [local = "", domain = ""] = address.split("@");
  return `mailto:${encodeURIComponent(local)}@${domain}?subject=${encodeURIComponent(`unsubscribe ${name}`)}`;
}

function openTransport({ smtp }: EmailSettings, limits: EmailLimits) {
  const { user, password } = smtp;
  const transport = createTransport({
    pool: true,
    maxConnections: 1,
    // If the server closed the pooled connection meanwhile, it is replaced once, before any byte of the mail was sent.
    maxRequeues: 1,
    idleTimeout: 30_000,
    host: smtp.host,
    port: smtp.port ?? (smtp.secure === true ? 465 : 587),
    secure: smtp.secure === true,
    requireTLS: smtp.secure === "starttls",
    ignoreTLS: smtp.secure === false,
    connectionTimeout: limits.connectMs,
    dnsTimeout: limits.connectMs,
    greetingTimeout: limits.greetingMs,
    socketTimeout: limits.silenceMs,
    socketCloseTimeout: 0,
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(smtp.ca === undefined ? {} : { tls: { ca: smtp.ca } }),
    ...(user === undefined || password === undefined ? {} : { auth: { user, pass: password } }),
  });
  // An error of an idle connection affects no mail; the next mail opens a new connection.
  transport.on("error", () => {});
  return transport;
}

function asMailError(error: unknown): MailError {
  return error instanceof Error ? error : { message: String(error) };
}

/** Returns the promise, or a rejection as soon as the signal aborts. The work itself ends by its own limits. */
function withSignal<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

function isUrgent({ severity, content }: Message): boolean {
  return severity === "critical" && !content.resolved && !content.quiet;
}
