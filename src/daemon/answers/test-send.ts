/** One attempt to send a test message. */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Channel } from "../../channels/channel.ts";
import { testMessage } from "../../deliver/index.ts";
import type { SendOutcome } from "../../domain/ports.ts";

/** One attempt at a marked message, within the channel's own deadline. */
export async function sendTest(channel: Channel, nowMs: number): Promise<SendOutcome> {
  const message = testMessage({
    receiver: channel.name,
    nowMs,
    randomBytes,
    sender: `perpwatch on ${hostname()}`,
  });
  try {
    return await channel.send(
      { message, attempt: 0, inReplyTo: null },
      AbortSignal.timeout(channel.deadlineMs),
    );
  } catch {
    return {
      kind: "retry",
      failure: "timeout",
      detail: `no answer within ${channel.deadlineMs} ms`,
      afterMs: null,
    };
  }
}
