/**
 * Log lines about refused signatures: each reason once per interval, then the number of further refusals. A refused
 * login is retried for each wallet, and the exchange can send any number of reasons; the signature log has all of them.
 */
import type { Logger } from "pino";
import type { Clock } from "../domain/clock.ts";
import { formatDurationMs } from "../domain/text/duration.ts";
import type { SignatureEntry } from "../exchange/session/sign-in.ts";

const everyMs = 10 * 60_000;
/** Maximum reasons with a line of their own within `everyMs`. */
const maxLines = 5;

export interface RefusalLines {
  refused(wallet: string, entry: SignatureEntry): void;
  stop(): void;
}

export function refusalLines(log: Pick<Logger, "warn">, clock: Clock): RefusalLines {
  let logged = new Set<string>();
  let suppressed = 0;
  let cancel: (() => void) | null = null;
  const flush = () => {
    const count = suppressed;
    cancel?.();
    cancel = null;
    logged = new Set();
    suppressed = 0;
    if (count > 0)
      log.warn(
        { count },
        `refused to sign ${count} more times within ${formatDurationMs(everyMs)}; signatures.log has a line for each`,
      );
  };
  return {
    refused(wallet, { act, hash, refused, see }) {
      const text = `refused to sign a ${act}: ${refused}${see === "" ? "" : `; see: ${see}`}`;
      cancel ??= clock.after(everyMs, flush);
      if (logged.has(text) || logged.size >= maxLines) {
        suppressed++;
        return;
      }
      logged.add(text);
      log.warn({ wallet, sha256: hash }, text);
    },
    stop: flush,
  };
}
