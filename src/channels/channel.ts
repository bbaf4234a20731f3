/**
 * The interface of channels. A channel makes one attempt to deliver a finalized message and returns one of three
 * results.
 *
 * A channel does not retry, does not wait for rate limits, and does not exceed its deadline; the outbox does the
 * scheduling. The channel classifies each failure and states when a retry makes sense.
 */
import type { Capacity, Message, SendFailure } from "../domain/alerts/delivery.ts";

export type SendResult =
  /** `receipt` identifies the message at the service (Discord's message id, the SMTP reply). Later messages refer to it. */
  | { readonly kind: "delivered"; readonly receipt: string }
  /** Retry with the same content, not before `afterMs` if the service stated a time. */
  | {
      readonly kind: "retry";
      readonly failure: SendFailure;
      readonly detail: string;
      readonly afterMs: number | null;
      /**
       * Set if the service answered with success but without confirmation, so the message may have been delivered. Left
       * out: it was not delivered, or there was no answer.
       */
      readonly unconfirmed?: true;
    }
  /**
   * The message is refused for good. `channelBroken`: every other message would be refused too, until the configuration
   * or service is fixed.
   */
  | {
      readonly kind: "refused";
      readonly failure: SendFailure;
      readonly detail: string;
      readonly channelBroken: boolean;
    };

export interface Outgoing {
  readonly message: Message;
  /** Number of earlier attempts. If above 0, the channel checks whether an earlier attempt arrived, where it can. */
  readonly attempt: number;
  /** The first message about the same alert on this channel. It is replied to, and edited when the alert ends. */
  readonly inReplyTo: SentMessage | null;
  /**
   * The newest message that covers all alerts of this one. It is edited instead if nothing got worse. Left out: there
   * is none.
   */
  readonly latest?: SentMessage;
  /**
   * The earlier messages about these alerts and the rest of their group, oldest first, each with its edits. Set for
   * channels with `keepsGroups`.
   */
  readonly around?: readonly SentMessage[];
  /** The first message of the incident, with its edits. Set for channels that edit. Left out: there is none. */
  readonly root?: SentMessage;
  /** The first message of an ended incident that contained these alerts; it is only edited. Left out: there is none. */
  readonly former?: SentMessage;
  /**
   * Set if the message is sent long after it became pending, or by another person's channel. It is shown beside the
   * finalized content, which does not change.
   */
  readonly late?: Late;
}

/** A sent message, with the later messages under the same receipt. */
export interface SentMessage {
  readonly messageId: string;
  readonly receipt: string;
  /** The original content. */
  readonly message: Message;
  /**
   * The later messages that edited it (with the same receipt) or reported ends of its alerts, oldest first. Left out:
   * none.
   */
  readonly since?: readonly Message[];
}

export interface Late {
  readonly heldMs: number;
  /** For people. Contains no secret. */
  readonly because: string;
  /** The person of a rota whom the receiver replaces. Left out: nobody. */
  readonly insteadOf?: string;
}

export type ProbeResult =
  /** `warnings`: features that do not work, and their fixes. Messages are delivered all the same. */
  | { readonly kind: "ok"; readonly detail: string; readonly warnings?: readonly Warning[] }
  | { readonly kind: "failed"; readonly failure: SendFailure; readonly detail: string; readonly fix: string };

export interface Warning {
  readonly detail: string;
  readonly fix: string;
}

export interface Channel extends Capacity {
  /** Name in the configuration. */
  readonly name: string;
  readonly kind: string;
  /** Maximum duration of one attempt, ms. The outbox aborts it then. */
  readonly deadlineMs: number;
  /** The channel needs the earlier messages of a message's group (`Outgoing.around`). Left out: it does not. */
  readonly keepsGroups?: boolean;
  /**
   * For a rota: the people's channels by which a message may be sent, in the order in which they are tried; null stands
   * for a message that is finalized now. Each has the name of a configured channel and makes one attempt by it. Left
   * out: the channel sends its messages itself.
   */
  readonly people?: (message: Message | null) => readonly [Channel, ...Channel[]];
  /** Messages are finalized with chart data (`MessageContent.chart`). Left out: without. */
  readonly drawsCharts?: boolean;
  /** Resolves with "failed" if the service refuses; the daemon starts all the same. */
  start(signal: AbortSignal): Promise<ProbeResult>;
  /** Makes one attempt. Rejects only with the signal's reason, never because of the service or the network. */
  send(outgoing: Outgoing, signal: AbortSignal): Promise<SendResult>;
  /** Checks credentials, destination and permissions without sending a message. */
  probe(signal: AbortSignal): Promise<ProbeResult>;
  /**
   * The reason why a part of the channel (such as buttons) does not work although messages are sent, for people; null:
   * everything works.
   */
  trouble?(): string | null;
  /** Ends within a bounded time, may be called repeatedly and before `start`, and never rejects. */
  stop(): Promise<void>;
}
