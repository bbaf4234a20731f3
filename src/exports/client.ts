/**
 * `perpwatch/client`: the exchange's API, one typed method for each endpoint, and its streams. docs/library.md has the example.
 *
 * Sessions live in memory: a wallet signs in when a call first needs that, and its tokens are renewed. The key signs logins and
 * nothing else, and those in one form alone: the first that is seen, if it is a plain login of this exchange.
 */
import { readFileSync } from "node:fs";
import { marketConfigOf } from "../collect/translate/market.ts";
import { subaccountState } from "../collect/translate/trader-state.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import {
  type ArgsFor,
  type Client,
  type EndpointName,
  endpoints,
  nextPage,
  type RecordFor,
} from "../contract/endpoints.ts";
import type { ChannelName, MessageFor, SubscriptionFor } from "../contract/stream/stream-channels.ts";
import { systemClock } from "../domain/clock.ts";
import { isLoopbackHost } from "../domain/loopback.ts";
import type { SessionStore } from "../domain/ports.ts";
import { createExchange } from "../exchange/exchange.ts";
import { type ExchangeSettings, exchangeSettings } from "../exchange/settings.ts";
import { createStreams } from "../exchange/stream/streams.ts";
import type { AccountRisk, MarketRisk } from "../margin/model.ts";
import { localKeys } from "../signer/keys.ts";
import { LoginForms, memoryForms } from "../signer/login-forms.ts";

export type { ArgsFor, EndpointName, RecordFor } from "../contract/endpoints.ts";
export { ArgumentsRefused, type ParamProblem } from "../contract/request.ts";
export type { ChannelName, MessageFor, SubscriptionFor } from "../contract/stream/stream-channels.ts";
export { BadRecord, ExchangeError } from "../exchange/errors.ts";
export { BadKey } from "../wallet/wallet-key.ts";

/** A wallet that signs in. */
export type ClientWallet = {
  /** The name by which calls choose it. */
  readonly name: string;
  /** The way that it signs in. Default `message`. */
  readonly login?: "message" | "transaction";
} & (
  | {
      /** Text of a key file (a JSON array of 64 numbers), or base58 of a keypair or of its seed. */
      readonly key: string;
    }
  | {
      /** Path of a file that holds the same, and that its owner alone can read. */
      readonly keyFile: string;
    }
);

export interface ConnectOptions {
  /** Origin of the API, maybe with a path before `/v1`. Default: the public exchange. */
  readonly baseUrl?: string;
  readonly wallets?: readonly ClientWallet[];
  /** Requests a second at most; 429 answers lower it. Default `auto`: as much as the exchange grants. */
  readonly requestsPerSecond?: number | "auto";
  /** The host that the text of a login has to name. Default: that of `baseUrl`, where the text names one. */
  readonly loginDomain?: string;
  /** Called with what is left out of answers because it cannot be read, and with troubles of sessions; one line, no secrets. */
  readonly onProblem?: (problem: string) => void;
}

export interface CallOptions {
  /** The wallet under whose session to ask. Needed where the endpoint needs a session. */
  readonly wallet?: string;
  /** Gives the call up, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Limit for attempts, sign-in and repeats, ms. Waiting for the request ceiling does not count. Default 30 000. */
  readonly deadlineMs?: number;
}

/** One message of the stream; `channel` tells which. */
export type StreamMessage = {
  [N in ChannelName]: { readonly channel: N; readonly message: MessageFor<N> };
}[ChannelName];

/** The listener's methods; `wallet` null: of the common connection. */
export interface StreamListener {
  message(message: StreamMessage, wallet: string | null): void;
  /** Connected and subscribed; `again`: after it was lost, so that messages may have been missed. */
  up?(wallet: string | null, again: boolean): void;
  /** Lost, or not to be had; it is tried again. */
  down?(wallet: string | null, detail: string): void;
}

export interface Stream {
  /** Subscribes, now or as soon as it is connected, and after each loss again. @throws {ArgumentsRefused} */
  subscribe<N extends ChannelName>(channel: N, params: SubscriptionFor<N>): void;
  unsubscribe<N extends ChannelName>(channel: N, params: SubscriptionFor<N>): void;
  close(): Promise<void>;
}

export interface Exchange {
  /**
   * One method for each endpoint: `api.traderState({ authority }, { wallet: "main" })`. They throw `ArgumentsRefused` before
   * anything is sent, `ExchangeError` for a refusal or no answer, `BadRecord` for an answer of another form.
   */
  readonly api: Client<CallOptions>;
  /**
   * Connects to the stream, and comes back whenever that is lost: one common connection, on which subscriptions are made, and one
   * for each wallet, which brings its notifications.
   */
  openStream(listener: StreamListener): Stream;
  /** Ends streams, sessions and connections. Repeatable. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Asks nothing of the exchange yet. @throws {TypeError} for options that cannot be @throws {BadKey} */
export function connect(options: ConnectOptions = {}): Exchange {
  const settings = settingsFrom(options);
  const { baseUrl, loginDomain = null } = settings;
  const onProblem = options.onProblem ?? (() => {});
  const clock = systemClock();
  const keys = localKeys({
    forms: new LoginForms({ store: memoryForms(), baseUrl, domain: loginDomain }),
    // A simulated exchange may have any time.
    nowMs: isLoopbackHost(new URL(baseUrl).hostname) ? null : () => clock.nowMs(),
    loginsOnly: true,
  });
  const wallets = (options.wallets ?? []).map((wallet) => ({
    name: wallet.name,
    login: wallet.login ?? "message",
    key: "keyFile" in wallet ? keys.file(wallet.keyFile) : keys.text(wallet.key, wallet.name),
  }));
  const exchange = createExchange({
    settings,
    version,
    clock,
    random: Math.random,
    wallets,
    store: memorySessions(),
    onSession: () => {},
    onTrouble: (wallet, detail) => onProblem(`${wallet}: ${detail}`),
    onBadRecord: ({ problem }) => onProblem(problem),
  });
  const streams = new Set<Stream>();
  const close = async () => {
    await Promise.all([...streams].map((stream) => stream.close()));
    await exchange.stop();
  };
  return {
    api: exchange.client,
    openStream(listener) {
      const running = createStreams({
        baseUrl,
        version,
        clock,
        random: Math.random,
        sessions: exchange.sessions,
        wallets: wallets.map(({ name, key }) => ({ name, authority: key.address })),
        listener: {
          message: (wallet, message) => listener.message(message, wallet),
          misfit: (_, { channel, problem }) => onProblem(`${channel}: ${problem.message}`),
          up: (wallet, again) => listener.up?.(wallet, again),
          down: (wallet, detail) => listener.down?.(wallet, detail),
          quiet: () => {},
          badFrame: ({ problem }) => onProblem(problem),
        },
      });
      const stream: Stream = {
        subscribe: (channel, params) => running.common.subscribe(channel, params),
        unsubscribe: (channel, params) => running.common.unsubscribe(channel, params),
        async close() {
          streams.delete(stream);
          await running.stop();
        },
      };
      streams.add(stream);
      running.start();
      return stream;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The arguments of the page that follows the one that these brought; null: it was the last, or there are no pages. */
export function nextArgs<N extends EndpointName>(
  name: N,
  args: ArgsFor<N>,
  page: RecordFor<N> & object,
  direction: "older" | "newer" = "older",
): ArgsFor<N> | null {
  const next = nextPage(endpoints[name] as unknown as Endpoint, page, direction);
  return next === null ? null : { ...args, ...next };
}

/** A market's configuration (`api.market`, a row of `api.markets`) as `perpwatch/margin` takes it. */
export function marketRisk(record: RecordFor<"market">): MarketRisk {
  return marketConfigOf(record, () => {});
}

/**
 * The account of a subaccount (a row of `api.traderState`'s `snapshot.subaccounts`) as `perpwatch/margin` takes it. Spot collateral
 * is not in it: `priceSpot` values that.
 */
export function accountRisk(
  record: RecordFor<"traderState">["snapshot"]["subaccounts"][number],
): AccountRisk {
  const { collateralQuoteLots, positions, orders } = subaccountState(record, () => {});
  return { collateralQuoteLots, positions, orders };
}

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  version: string;
};

/** @throws {TypeError} */
function settingsFrom({ baseUrl, requestsPerSecond, loginDomain }: ConnectOptions): ExchangeSettings {
  const read = exchangeSettings.safeParse({ baseUrl, requestsPerSecond, loginDomain });
  if (read.success) return read.data;
  throw new TypeError(
    read.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; "),
  );
}

/** Sessions that end with the process. */
function memorySessions(): SessionStore {
  const rows = new Map<string, Uint8Array>();
  return {
    load: async (name) => rows.get(name) ?? null,
    save: async (wallet, sealed) => void rows.set(wallet, sealed),
    remove: async (wallet) => void rows.delete(wallet),
  };
}
