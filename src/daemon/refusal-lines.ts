/**
 * Lines of the log about refused signatures: each reason once in a while, then the number of the others. A refused login is tried
 * again for each wallet, and the exchange can make up reasons; the signature log has them all.
 */
import type { Logger } from "pino";
import type { Clock } from "../domain/clock.ts";
import { formatDurationMs } from "../domain/duration.ts";
import type { SignatureEntry } from "../exchange/sign-in.ts";

const everyMs = 10 * 60_000;
/** Reasons with a line of their own within `everyMs`. */
const maxLines = 5;

export interface RefusalLines {
  refused(wallet: string, entry: SignatureEntry): void;
  stop(): void;
}

export function refusalLines(log: Pick<Logger, "warn">, clock: Clock): RefusalLines {
  let told = new Set<string>();
  let more = 0;
  let cancel: (() => void) | null = null;
  const over = () => {
    const count = more;
    cancel?.();
    cancel = null;
    told = new Set();
    more = 0;
    if (count > 0)
      log.warn(
        { count },
        `refused to sign ${count} more times within ${formatDurationMs(everyMs)}; signatures.log has a line for each`,
      );
  };
  return {
    refused(wallet, { act, hash, refused, see }) {
      const text = `refused to sign a ${act}: ${refused}${see === "" ? "" : `; see: ${see}`}`;
      cancel ??= clock.after(everyMs, over);
      if (told.has(text) || told.size >= maxLines) {
        more++;
        return;
      }
      told.add(text);
      log.warn({ wallet, sha256: hash }, text);
    },
    stop: over,
  };
}
