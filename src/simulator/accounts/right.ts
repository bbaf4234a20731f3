/** The rights of trader accounts, by name. */

/** In the order of their bits, the lowest first. */
export const rights = [
  "placeLimitOrder",
  "placeMarketOrder",
  "riskIncreasingTrade",
  "riskReducingTrade",
  "depositCollateral",
  "withdrawCollateral",
] as const;

export type Right = (typeof rights)[number];
