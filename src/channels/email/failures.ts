/** The meaning of an error of nodemailer for a message. */
import type { SendResult } from "../channel.ts";

/** The parts of nodemailer's errors that are read. */
export interface MailError {
  readonly message: string;
  readonly code?: string | undefined;
  readonly command?: string | undefined;
  /** The SMTP reply code, where the server spoke. */
  readonly responseCode?: number | undefined;
  readonly response?: string | undefined;
}

const wantsAuth = new Set([530, 534, 535, 538]);
/** Codes of the 4.7 family, and the words of servers that slow senders down: greylisting among them. */
const slowedDown = /\b4\.7\.\d+|rate limit|too many|throttl|gr[ae]y-?list/i;

/**
 * The server's word first: 4xx is "later", 5xx is "never". Where it refused the sender or every recipient, no other
 * message would fare better. Without a word of the server it is the line, and the message can be tried again; after the
 * final dot that may make two of it, which the same Message-ID tells a mail program.
 * @param safe takes secrets out of a text
 */
export function mailFailure(
  error: MailError,
  safe: (text: string) => string,
): Exclude<SendResult, { kind: "delivered" }> {
  const { responseCode, command = "", code } = error;
  const said = error.response ?? error.message;
  const detail = isOfSignIn(error)
    ? `the mail server refused the sign-in${responseCode === undefined ? "" : ` (${responseCode})`}`
    : safe(responseCode === undefined ? said : `the mail server answered: ${said}`);
  const retry = (failure: "rate-limited" | "server-error" | "unreachable" | "timeout") =>
    ({ kind: "retry", failure, detail, afterMs: null }) as const;

  // The line could not be encrypted as demanded: by whose doing is not known, and nothing of the mail was sent.
  if (code === "ETLS") return retry("unreachable");
  if (responseCode !== undefined && responseCode >= 400 && responseCode < 500) {
    return retry(slowedDown.test(said) ? "rate-limited" : "server-error");
  }
  if (code === "EAUTH" || (responseCode !== undefined && wantsAuth.has(responseCode))) {
    return { kind: "refused", failure: "authentication", detail, channelBroken: true };
  }
  if (responseCode !== undefined && responseCode >= 500) {
    // A refusal in place of a greeting is about us or about the server's day, not about the message.
    const aboutMessage =
      /^(MAIL FROM|RCPT TO|DATA)/i.test(command) || code === "EENVELOPE" || code === "EMESSAGE";
    if (!aboutMessage) return retry("server-error");
    const channelBroken = !/^DATA/i.test(command) && code !== "EMESSAGE";
    return { kind: "refused", failure: "rejected", detail, channelBroken };
  }
  if (code === "EENVELOPE") return { kind: "refused", failure: "rejected", detail, channelBroken: true };
  return retry(code === "ETIMEDOUT" ? "timeout" : "unreachable");
}

/** An answer to a credential may repeat it, in whatever form: it is not quoted. */
function isOfSignIn({ command = "", code }: MailError): boolean {
  return code === "EAUTH" || /^AUTH/i.test(command);
}

/** The remedy for a probe's result. */
export function mailFix(error: MailError, secure: boolean | "starttls"): string {
  const failure = mailFailure(error, (text) => text);
  if (failure.failure === "authentication")
    return "check smtp.user and smtp.password; many providers want an app password";
  if (error.code === "ETLS" || /certificate|tls|ssl/i.test(error.message)) {
    return secure === "starttls"
      ? "check that the server offers STARTTLS on this port (587 as a rule); with a certificate of your own give smtp.ca"
      : "check that the server speaks TLS on this port (465 as a rule); with a certificate of your own give smtp.ca";
  }
  if (error.code === "EDNS") return "check smtp.host";
  if (failure.failure === "server-error" || failure.failure === "rate-limited")
    return "wait; perpwatch tries again by itself";
  return "check smtp.host, smtp.port and smtp.secure, and that no firewall is in between";
}
