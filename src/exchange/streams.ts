/**
 * The exchange's stream from outside: one anonymous connection for all that is public, and for each wallet that has a
 * key one of its own, since a connection carries one token and messages of an inbox do not say which subscription they
 * belong to.
 *
 * Nothing here makes data fresh or stale: what is told is handed on, and how the connections are is shown.
 */

import type { ChannelName } from "../contract/index.ts";
import type { Clock, Random } from "../domain/clock.ts";
import type { StreamStatus } from "../domain/status.ts";
import type { BadRecordReport } from "./client.ts";
import type { Sessions } from "./sessions.ts";
import { linkAuth } from "./stream-auth.ts";
import type { StreamMessage, StreamMisfit } from "./stream-frames.ts";
import { type DownReason, type LinkOptions, StreamLink } from "./stream-link.ts";
import type { LivenessLimits } from "./stream-liveness.ts";
import type { OpenSocket } from "./stream-socket.ts";

export type { StreamMessage, StreamMisfit } from "./stream-frames.ts";
export type { DownReason } from "./stream-link.ts";

/** The listener's methods; `wallet` null: by the common connection. */
export interface StreamListener {
  message(wallet: string | null, message: StreamMessage): void;
  misfit(wallet: string | null, misfit: StreamMisfit): void;
  /** A subscription was refused to a connection. @param channel null: the exchange does not say which */
  refused?(wallet: string | null, channel: ChannelName | null): void;
  /** Open and subscribed; `again`: after it was lost, so that something may have been missed. */
  up(wallet: string | null, again: boolean): void;
  /** Lost, or not to be had; told at every attempt. */
  down(wallet: string | null, detail: string, why: DownReason): void;
  /** No message for a minute although it is open. */
  quiet(wallet: string | null): void;
  badFrame(report: BadRecordReport): void;
}

export interface StreamsOptions {
  /** As configured: origin, maybe with a path before `/v1`. */
  readonly baseUrl: string;
  /** The version of perpwatch. */
  readonly version: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly sessions: Pick<Sessions, "of">;
  /** Those that get a connection of their own where they have a session. */
  readonly wallets: readonly { readonly name: string; readonly authority: string }[];
  readonly listener: StreamListener;
  /** Default: WebSockets to `baseUrl`. */
  readonly openSocket?: OpenSocket | undefined;
  readonly limits?: LivenessLimits;
}

export interface Streams {
  /** Begins to connect; waits for nothing. */
  start(): void;
  stop(): Promise<void>;
  /** The common connection. */
  readonly common: StreamLink;
  /** A wallet's own; undefined without a session. */
  of(wallet: string): StreamLink | undefined;
  /** True if the notifications of a wallet come by themselves now. */
  tellsNotifications(wallet: string): boolean;
  /** A wallet has a session (again): its connection need not wait. */
  signedIn(wallet: string): void;
  /** True if every connection stands, but for those of wallets that are signed out: no session, no connection. */
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
    tellsNotifications(wallet) {
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
        lastToldMs: one.lastToldMs,
        subscriptions: one.subscriptions.size,
        refused: one.subscriptions.refused,
        reconnects: Math.max(0, one.figures.opened - 1),
        frames: one.figures.frames,
        badFrames: one.figures.badFrames,
      })),
  };
}
