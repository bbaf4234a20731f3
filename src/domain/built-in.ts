/** Alerts that no rule of the user's raises: perpwatch tells them of itself. Their names are no names of rules. */
export const builtInRules = [
  "Blind",
  "ExchangeUnreachable",
  "RuleFailing",
  "NotWatched",
  "ChannelBroken",
  "MessagesDropped",
  "DrillFailed",
  "InboxDiffers",
  "UnknownNotification",
] as const;

/** Labels that alerts of these carry beside those of all alerts. */
export const builtInLabels: readonly string[] = ["channel", "source", "failing"];

export type BuiltInRule = (typeof builtInRules)[number];

/** Data are missing of some wallets, markets or the exchange. */
export const blindRule = "Blind" satisfies BuiltInRule;
/** No read of the exchange succeeds, and more than three wallets are without data. */
export const unreachableRule = "ExchangeUnreachable" satisfies BuiltInRule;
