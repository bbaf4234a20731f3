/** Classifies nodemailer's errors. */
import type { SendResult } from "../channel.ts";

/** The used fields of nodemailer's errors. */
export interface MailError {
  readonly message: string;
  readonly code?: string | undefined;
  readonly command?: string | undefined;
  /** The SMTP reply code, if the server replied. */
  readonly responseCode?: number | undefined;
  readonly response?: string | undefined;
}

const authRequiredCodes = new Set([530, 534, 535, 538]);
/** Codes 4.7.x, and texts of servers that throttle senders, greylisting included. */
const throttledPattern = /\b4\.7\.\d+|rate limit|too many|throttl|gr[ae]y-?list/i;

/**
 * The server's reply decides: 4xx is a retry, 5xx a refusal. If the sender or every recipient was refused, other
 * messages would be refused too. Without a reply the connection failed, and the message is retried. After the final dot
 * a retry may duplicate the mail; mail programs recognize it by its Message-ID.
 * @param safe removes secrets from a text
 */
export function mailFailure(
  error: MailError,
  safe: (text: string) => string,
): Exclude<SendResult, { kind: "delivered" }> {
  const { responseCode, command = "", code } = error;
  const serverText = error.response ?? error.message;
  const detail = isSignInError(error)
    ? `the mail server refused the sign-in${responseCode === undefined ? "" : ` (${responseCode})`}`
    : safe(responseCode === undefined ? serverText : `the mail server answered: ${serverText}`);
  const retry = (failure: "rate-limited" | "server-error" | "unreachable" | "timeout") =>
    ({ kind: "retry", failure, detail, afterMs: null }) as const;

  // TLS could not be established as required. The cause is not known, and nothing of the mail was sent.
  if (code === "ETLS") return retry("unreachable");
  if (responseCode !== undefined && responseCode >= 400 && responseCode < 500) {
    return retry(throttledPattern.test(serverText) ? "rate-limited" : "server-error");
  }
  if (code === "EAUTH" || (responseCode !== undefined && authRequiredCodes.has(responseCode))) {
    return { kind: "refused", failure: "authentication", detail, channelBroken: true };
  }
  if (responseCode !== undefined && responseCode >= 500) {
    // A refusal at the greeting concerns the client or the server's state, not the message.
    const aboutMessage =
      /^(MAIL FROM|RCPT TO|DATA)/i.test(command) || code === "EENVELOPE" || code === "EMESSAGE";
    if (!aboutMessage) return retry("server-error");
    const channelBroken = !/^DATA/i.test(command) && code !== "EMESSAGE";
    return { kind: "refused", failure: "rejected", detail, channelBroken };
  }
  if (code === "EENVELOPE") return { kind: "refused", failure: "rejected", detail, channelBroken: true };
  return retry(code === "ETIMEDOUT" ? "timeout" : "unreachable");
}

/** Returns true for errors of the sign-in. Their replies may repeat the credential in any form, so they are not quoted. */
function isSignInError({ command = "", code }: MailError): boolean {
  return code === "EAUTH" || /^AUTH/i.test(command);
}

/** The fix for a probe result. */
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
