/** A marked message that proves that a channel works. It is in nobody's outbox: sent once, by whoever asks for it. */
import { type Message, untried } from "../domain/delivery.ts";
import { messageId, messageIdBytes } from "./message-id.ts";

export function testMessage(of: {
  readonly receiver: string;
  readonly nowMs: number;
  readonly randomBytes: (count: number) => Uint8Array;
  /** `perpwatch on <host>`. */
  readonly sender: string;
}): Message {
  return {
    id: messageId(of.randomBytes(messageIdBytes)),
    receiver: of.receiver,
    severity: "info",
    itemIds: [],
    alertIds: [],
    content: {
      kind: "test",
      severity: "info",
      resolved: false,
      title: "perpwatch test message: this channel works",
      items: [],
      sender: of.sender,
    },
    ...untried(of.nowMs),
  };
}
