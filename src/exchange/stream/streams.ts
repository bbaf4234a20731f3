/**
 * The exchange's streams: one anonymous connection for all public data, and a separate one for each wallet with a key,
 * since a connection carries one token and inbox messages do not name their subscription.
 *
 * This decides nothing about the freshness of data: it passes on messages, and reports the state of connections.
 */

import type { ChannelName } from "../../contract/index.ts";
import type { Clock, Random } from "../../domain/clock.ts";
import type { StreamStatus } from "../../domain/status.ts";
import type { BadRecordReport } from "../requests/client.ts";
import type { Sessions } from "../session/sessions.ts";
import { linkAuth } from "./auth.ts";
import type { StreamMessage, StreamMisfit } from "./frames.ts";
import { type DownReason, type LinkOptions, StreamLink } from "./link.ts";
import type { LivenessLimits } from "./liveness.ts";
import type { OpenSocket } from "./socket.ts";

export type { StreamMessage, StreamMisfit } from "./frames.ts";
export type { DownReason } from "./link.ts";

/** The listener's methods; `wallet` null: the common connection. */
export interface StreamListener {
  message(wallet: string | null, message: StreamMessage): void;
  misfit(wallet: string | null, misfit: StreamMisfit): void;
  /** A subscription was refused. @param channel null: the exchange does not name it */
  refused?(wallet: string | null, channel: ChannelName | null): void;
  /** Open and subscribed; `again`: after a loss, so that data may have been missed. */
  up(wallet: string | null, again: boolean): void;
  /** Lost, or not connected; called at every attempt. */
  down(wallet: string | null, detail: string, why: DownReason): void;
  /** Open without a message for a minute. */
  quiet(wallet: string | null): void;
  badFrame(report: BadRecordReport): void;
}

export interface StreamsOptions {
  /** As configured: origin, optionally with a path before `/v1`. */
  readonly baseUrl: string;
  /** The version of perpwatch. */
  readonly version: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly sessions: Pick<Sessions, "of">;
  /** Wallets with a separate connection if they have a session. */
  readonly wallets: readonly { readonly name: string; readonly authority: string }[];
  readonly listener: StreamListener;
  /** Default: WebSockets to `baseUrl`. */
  readonly openSocket?: OpenSocket | undefined;
  readonly limits?: LivenessLimits;
}

export interface Streams {
  /** Starts to connect; does not wait. */
  start(): void;
  stop(): Promise<void>;
  /** The common connection. */
  readonly common: StreamLink;
  /** Returns a wallet's connection; undefined without a session. */
  of(wallet: string): StreamLink | undefined;
  /** Returns true if the notifications of a wallet are streamed now. */
  streamsNotifications(wallet: string): boolean;
  /** A wallet is signed in (again): its connection need not wait. */
  signedIn(wallet: string): void;
  /** True if every connection is open, except those of wallets without a session. */
  readonly connected: boolean;
  status(): readonly StreamStatus[];
}

export function createStreams(options: StreamsOptions): Streams {
  const { listener, clock } = options;
  const base = new URL(options.baseUrl);
  base.protocol = base.protocol === "http:" ? "ws:" : "wss:";
  base.pathname = `${base.pathname.replace(/\/+$/, "")}/v1/ws`;
  const headers = {
    "user-agent": `perpwatch/${options.version}`,
    "x-phoenix-client": `language=typescript;sdk=perpwatch;version=${options.version}`,
  };
  const link = (wallet: string | null, auth: LinkOptions["auth"]): StreamLink =>
    new StreamLink({
      url: base.href,
      headers,
      wallet,
      auth,
      clock,
      random: options.random,
      openSocket: options.openSocket,
      ...(options.limits ? { limits: options.limits } : {}),
      onMessage: (message) => listener.message(wallet, message),
      onMisfit: (misfit) => listener.misfit(wallet, misfit),
      onRefused: (channel) => listener.refused?.(wallet, channel),
      onUp: (again) => listener.up(wallet, again),
      onDown: (detail, why) => listener.down(wallet, detail, why),
      onQuiet: () => listener.quiet(wallet),
      onBadFrame: (report) => listener.badFrame(report),
    });
  const common = link(null, null);
  const own = new Map<string, { readonly link: StreamLink; readonly authority: string }>();
  for (const { name, authority } of options.wallets) {
    const session = options.sessions.of(name);
    if (!session) continue;
    const one = link(name, linkAuth(session, clock));
    one.subscribe("notifications", { authority });
    own.set(name, { link: one, authority });
  }
  const isSignedOut = ({ wallet }: StreamLink) =>
    wallet !== null && options.sessions.of(wallet)?.signedIn === false;
  const all = (): StreamLink[] => [common, ...[...own.values()].map((one) => one.link)];
  return {
    start: () => {
      for (const one of all()) one.start();
    },
    async stop() {
      await Promise.all(all().map((one) => one.stop()));
    },
    common,
    of: (wallet) => own.get(wallet)?.link,
    streamsNotifications(wallet) {
      const one = own.get(wallet);
      if (!one?.link.connected) return false;
      return one.link.subscriptions.stateOf("notifications", { authority: one.authority }) === "confirmed";
    },
    signedIn: (wallet) => own.get(wallet)?.link.hurry(),
    get connected() {
      return all().every((one) => one.connected || isSignedOut(one));
    },
    status: () =>
      all().map((one) => ({
        wallet: one.wallet,
        connected: one.connected,
        detail: one.detail,
        sinceMs: one.sinceMs,
        lastToldMs: one.lastDataMs,
        subscriptions: one.subscriptions.size,
        refused: one.subscriptions.refused,
        reconnects: Math.max(0, one.figures.opened - 1),
        frames: one.figures.frames,
        badFrames: one.figures.badFrames,
      })),
  };
}
