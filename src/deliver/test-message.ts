/** A marked message that tests a channel. It is not in the outbox: sent once, by the caller. */
import { type Message, untried } from "../domain/alerts/delivery.ts";
import { messageId, messageIdBytes } from "./message/message-id.ts";

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
