/**
 * Email over one pooled SMTP connection, one mail in flight.
 *
 * nodemailer waits half a minute for a greeting and ten for a silent server unless told otherwise: every phase has its
 * limit here, and an aborted attempt closes its connection at once. A mail that some recipients were refused is
 * delivered: sending it again would repeat it to the others. The refused are named in the receipt and in the log.
 *
 * A repeat, which comes when nobody knows whether the first one arrived, is the same mail to the byte (but for a note that it is
 * late): same Message-ID, same date, same boundaries, same picture.
 */
import { createTransport } from "nodemailer";
import type { Capacity, Message } from "../../domain/delivery.ts";
import type { Channel, Outgoing, ProbeResult, SendResult } from "../channel.ts";
import type { ChannelLog } from "../log.ts";
import type { CommandLine } from "../message/command-line.ts";
import { render } from "../message.ts";
import { cleanLine, shorten, withoutSecrets } from "../text.ts";
import { type Draw, Pictures } from "./chart.ts";
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
  /** Silence of the server, at any time. */
  readonly silenceMs: number;
  /** One attempt, all in all. */
  readonly deadlineMs: number;
}

const defaultLimits: EmailLimits = {
  connectMs: 5_000,
  greetingMs: 5_000,
  silenceMs: 10_000,
  deadlineMs: 20_000,
};

/** Alerts that have a line each in HTML of a size that mail programs show whole. */
export const emailCapacity: Capacity = { maxNamed: 300 };

type Transport = ReturnType<typeof openTransport>;

export function createEmail(name: string, settings: EmailSettings, deps: EmailDeps): Channel {
  const { smtp, from, to } = settings;
  const limits = { ...defaultLimits, ...deps.limits };
  const secrets = smtp.password === undefined ? [] : [smtp.password];
  const safe = (text: string) => withoutSecrets(text, secrets);
  const domain = /@([^<>@\s]+?)>?$/.exec(from)?.[1] ?? "localhost";
  const idOf = (messageId: string) => `<${messageId}@${domain}>`;
  const leaving = unsubscribeUrl(settings, name);
  const pictures = new Pictures(deps);
  let transport: Transport | undefined;
  const open = () => {
    transport ??= openTransport(settings, limits);
    return transport;
  };

  const probe = async (signal: AbortSignal): Promise<ProbeResult> => {
    try {
      await raced(open().verify(), signal);
      const how = smtp.secure === false ? ", without encryption" : "";
      return { kind: "ok", detail: `${smtp.host} takes mail from ${cleanLine(from)}${how}` };
    } catch (error) {
      const problem: MailError = signal.aborted
        ? { message: "no answer in time", code: "ETIMEDOUT" }
        : asMailError(error);
      const { failure, detail } = mailFailure(problem, safe);
      return { kind: "failed", failure, detail, fix: mailFix(problem, smtp.secure) };
    }
  };

  const send = async ({ message, inReplyTo, late }: Outgoing, signal: AbortSignal): Promise<SendResult> => {
    signal.throwIfAborted();
    const picture = await pictures.of(message, signal);
    const cid = `chart.${message.id}@${domain}`;
    const chart = picture && { alertId: picture.alertId, url: `cid:${cid}`, words: picture.words };
    const parts = mailParts(render(message, deps, late), chart);
    // What is not shown would hang below the mail as a file.
    const shown = picture !== null && parts.html.includes(`"cid:${cid}"`);
    const first = inReplyTo === null ? null : idOf(inReplyTo.messageId);
    // No mail has these ids: programs put together what refers to the same one, whichever of them arrived.
    const threads = (message.content.threads ?? []).map((thread) => `<thread.${thread}@${domain}>`);
    const references = [...threads, ...(first === null ? [] : [first])];
    const own = new AbortController();
    const abort = () => own.abort();
    signal.addEventListener("abort", abort, { once: true });
    const timer = setTimeout(abort, limits.deadlineMs);
    try {
      const info = await open().sendMail({
        ...parts,
        ...(shown ? { attachments: [inline(picture.png, cid)] } : {}),
        // Else by chance, and no two attempts alike.
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
        signal: own.signal,
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
      return { kind: "delivered", receipt: shorten(safe(info.response) + tail, 500) };
    } catch (error) {
      signal.throwIfAborted();
      if (own.signal.aborted) {
        const detail = `the mail server did not take the mail within ${limits.deadlineMs / 1_000} s`;
        return { kind: "retry", failure: "timeout", detail, afterMs: null };
      }
      return mailFailure(asMailError(error), safe);
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
    drawsSealed: true,
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

/** A page as it is; an address as a mail that says which channel it is about. */
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
    // A pooled connection that the server closed meanwhile is replaced once, before a byte of the mail was sent.
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
  // Errors of idle connections have no mail to fail; the next mail opens a new one.
  transport.on("error", () => {});
  return transport;
}

function asMailError(error: unknown): MailError {
  return error instanceof Error ? error : { message: String(error) };
}

/** The promise, or a rejection as soon as the signal aborts; what was begun ends by its own limits. */
function raced<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
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
