/** Alerts that no rule of the user's raises: perpwatch tells them of itself. Their names are no names of rules. */
export const builtInRules = [
  "Blind",
  "ExchangeUnreachable",
  "RuleFailing",
  "NotWatched",
  "ChannelBroken",
  "DrillFailed",
  "InboxDiffers",
  "UnknownNotification",
] as const;

export type BuiltInRule = (typeof builtInRules)[number];
