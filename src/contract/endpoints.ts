/** The complete table of endpoints, from which client, simulator, `perpwatch api` and docs are made (endpoint.ts). */
import type { Args, Endpoint, RecordOf, ServerArgs, WireOf } from "./endpoint.ts";
import { authEndpoints } from "./endpoints/auth.ts";
import { exchangeEndpoints } from "./endpoints/exchange.ts";
import { historyEndpoints } from "./endpoints/history.ts";
import { marketEndpoints } from "./endpoints/market.ts";
import { notificationEndpoints } from "./endpoints/notifications.ts";
import { deprecatedEndpoints, onboardingEndpoints } from "./endpoints/onboarding.ts";
import { traderEndpoints } from "./endpoints/trader.ts";

export const endpoints = {
  ...exchangeEndpoints,
  ...marketEndpoints,
  ...traderEndpoints,
  ...historyEndpoints,
  ...authEndpoints,
  ...notificationEndpoints,
  ...onboardingEndpoints,
  ...deprecatedEndpoints,
} as const;

export type Endpoints = typeof endpoints;
export type EndpointName = keyof Endpoints;

/** The table as a list, for routers and listings. */
export const allEndpoints: readonly Endpoint[] = Object.values(endpoints) as unknown as readonly Endpoint[];

/** Arguments, record and wire form by endpoint name. */
export type ArgsFor<N extends EndpointName> = Args<Endpoints[N]>;
export type ServerArgsFor<N extends EndpointName> = ServerArgs<Endpoints[N]>;
export type RecordFor<N extends EndpointName> = RecordOf<Endpoints[N]>;
export type WireFor<N extends EndpointName> = WireOf<Endpoints[N]>;

/** The arguments are optional if none is required. */
type CallArgs<N extends EndpointName, Options> =
  Record<never, never> extends ArgsFor<N>
    ? [args?: ArgsFor<N>, options?: Options]
    : [args: ArgsFor<N>, options?: Options];

/** One method for each endpoint: `client.traderState({ authority })`. `Options` is the implementation's own type. */
export type Client<Options = { signal?: AbortSignal }> = {
  readonly [N in EndpointName]: (...call: CallArgs<N, Options>) => Promise<RecordFor<N>>;
};

/** One handler for each endpoint of a server; `Context` is the server's own type. */
export type Handlers<Context> = {
  readonly [N in EndpointName]: (
    args: ServerArgsFor<N>,
    context: Context,
  ) => WireFor<N> | Promise<WireFor<N>>;
};

/** Returns arguments that continue a list in one direction; null: at its end, or that direction has no cursor. */
export function nextPage(
  endpoint: Endpoint,
  page: object,
  direction: "older" | "newer",
): Readonly<Record<string, string>> | null {
  const way = endpoint.paging?.[direction];
  if (!way) return null;
  const cursor = (page as Record<string, unknown>)[way.field];
  return typeof cursor === "string" && cursor !== "" ? { [way.argument]: cursor } : null;
}
