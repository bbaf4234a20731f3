/** Alerts that no user rule raises: perpwatch reports them about itself. User rules cannot have their names. */
export const builtInRules = [
  "Blind",
  "ExchangeUnreachable",
  "RuleFailing",
  "NotWatched",
  "StateDamaged",
  "ChannelBroken",
  "MessagesDropped",
  "DrillFailed",
  "InboxDiffers",
  "UnknownNotification",
] as const;

/** Labels of these alerts beside those of all alerts. */
export const builtInLabels: readonly string[] = ["channel", "source", "failing"];

export type BuiltInRule = (typeof builtInRules)[number];

/** The meaning of each, for people. */
export const builtInMeanings: Readonly<Record<BuiltInRule, string>> = {
  Blind: "data are missing of some wallets, markets or the exchange, so that rules cannot be judged",
  ExchangeUnreachable: "no read of the exchange succeeds, and more than three wallets are without data",
  RuleFailing: "an expression of a rule meets an error, so that no reading lets the rule be judged",
  NotWatched:
    "the daemon did not run for a minute or more: it was down, its machine slept, or its process was paused (one message each time)",
  StateDamaged:
    "values that the daemon keeps over restarts could not be read at a start, and were removed (one message)",
  ChannelBroken: "a channel does not take messages; what is owed there waits",
  MessagesDropped: "messages were owed to a channel that is no longer configured (one message)",
  DrillFailed: "a scheduled fire drill did not reach every channel in time",
  InboxDiffers: "two audits in a row found the exchange's inbox of a wallet other than what is known here",
  UnknownNotification: "the exchange sent a notification of a type that is not known here (one message)",
};

export function isBuiltIn(name: string): name is BuiltInRule {
  return (builtInRules as readonly string[]).includes(name);
}

/** Data is missing for some wallets, markets or the exchange. */
export const noDataRule = "Blind" satisfies BuiltInRule;
/** No read of the exchange succeeds, and more than three wallets are without data. */
export const unreachableRule = "ExchangeUnreachable" satisfies BuiltInRule;
