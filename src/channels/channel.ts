/**
 * The interface of channels: a channel takes a sealed message and answers in one of three ways.
 *
 * A channel never retries, never waits out a rate limit and never outlives its deadline: all of that is the outbox's
 * work. It says what happened as a closed set of failures, and when trying again makes sense.
 */
import type { Capacity, Message, SendFailure } from "../domain/delivery.ts";

export type SendResult =
  /** `receipt` is what the other side answered (Discord's message id, the SMTP reply); later messages refer to it. */
  | { readonly kind: "delivered"; readonly receipt: string }
  /** Try the same content again, not before `afterMs` where the other side named a time. */
  | {
      readonly kind: "retry";
      readonly failure: SendFailure;
      readonly detail: string;
      readonly afterMs: number | null;
      /** It may have been taken: success was answered, in words that do not confirm it. Left out: it was not taken, or no answer came. */
      readonly unconfirmed?: true;
    }
  /** This message will never be taken. `channelBroken`: nor will any other until somebody mends the channel. */
  | {
      readonly kind: "refused";
      readonly failure: SendFailure;
      readonly detail: string;
      readonly channelBroken: boolean;
    };

export interface Outgoing {
  readonly message: Message;
  /** Attempts before this one; above 0 the channel looks whether an earlier attempt arrived, where it can. */
  readonly attempt: number;
  /** The first message about the same alert on this channel: edited and replied to when it ends. */
  readonly inReplyTo: ToldBefore | null;
  /** The newest that tells of all that this one tells of: edited instead, where nothing got worse. Left out: none. */
  readonly latest?: ToldBefore;
  /**
   * The earlier messages about these alerts and the rest of their group, oldest first, edits with what they edited. Given to
   * channels that keep groups together (`keepsGroups`).
   */
  readonly around?: readonly ToldBefore[];
  /** The first message of its incident, with the edits since: kept current. Given to channels that edit. Left out: there is none. */
  readonly root?: ToldBefore;
  /** The first message of an incident that is over, of which its alerts were: edited, and nothing else. Left out: there is none. */
  readonly former?: ToldBefore;
  /** It leaves long after it was owed, or by the channel of somebody else: the reader is told so. Beside the sealed content, which no delay changes. */
  readonly late?: Late;
}

/** The messages on a channel under one receipt. */
export interface ToldBefore {
  readonly messageId: string;
  readonly receipt: string;
  /** As it was sent. */
  readonly message: Message;
  /** The later messages that edited it (they have the same receipt) or told of ends of its alerts, oldest first. Left out: none. */
  readonly since?: readonly Message[];
}

export interface Late {
  readonly heldMs: number;
  /** For people; never a secret. */
  readonly because: string;
  /** The person of a rota for whom the reader stands in. Left out: nobody. */
  readonly insteadOf?: string;
}

export type ProbeResult =
  /** `warnings`: what does not work as it should, and the way to mend it; messages arrive all the same. */
  | { readonly kind: "ok"; readonly detail: string; readonly warnings?: readonly Warning[] }
  | { readonly kind: "failed"; readonly failure: SendFailure; readonly detail: string; readonly fix: string };

export interface Warning {
  readonly detail: string;
  readonly fix: string;
}

export interface Channel extends Capacity {
  /** The name in the configuration. */
  readonly name: string;
  readonly kind: string;
  /** The longest one attempt may take, ms; the outbox aborts it then. */
  readonly deadlineMs: number;
  /** It is to be told what else was said of a message's group (`Outgoing.around`). Left out: it is not. */
  readonly keepsGroups?: boolean;
  /**
   * The channels by which a message may leave, in the order in which they are tried; null: a message that is sealed now. Each has
   * the name of a channel of the configuration, and makes one attempt by it alone. Left out: it sends its messages itself.
   */
  readonly people?: (message: Message | null) => readonly [Channel, ...Channel[]];
  /** Its messages are sealed with what there is to draw (`MessageContent.chart`). Left out: they are not. */
  readonly drawsSealed?: boolean;
  /** Resolves with "failed" rather than throwing when the other side refuses; the daemon starts all the same. */
  start(signal: AbortSignal): Promise<ProbeResult>;
  /** One attempt. Never throws for what the other side or the network does; rejects only with the signal's reason. */
  send(outgoing: Outgoing, signal: AbortSignal): Promise<SendResult>;
  /** Checks without sending: credentials, destination, permissions. */
  probe(signal: AbortSignal): Promise<ProbeResult>;
  /** The reason why a part of it does not work while messages leave, for people; null: none. Left out: never. */
  trouble?(): string | null;
  /** Bounded, repeatable, fine when unstarted, never rejects. */
  stop(): Promise<void>;
}
