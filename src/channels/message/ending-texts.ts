/** Words about an alert that is over: its meaning, and the time that its figures are from. */
import { type AlertChange, type Ending, isTaking, type Taking } from "../../domain/alerts/alert.ts";
import { formatTime } from "../../domain/text/time-text.ts";
import { cleanLine } from "./text.ts";

/** The meaning of an ending by which nothing was taken, so that nobody takes silence for safety. */
const endingMeaning: Readonly<Record<Exclude<Ending, "recovered" | Taking>, string>> = {
  closed: "The position is closed. Nothing of it is left to watch.",
  flipped: "The position changed its side. It is watched as a new one.",
  explained:
    "Money was paid in or out, or moved between accounts. That is no profit and no loss, so what this alert said before does not hold. If money left and it was not you, the key is in other hands.",
  ruleChanged:
    "Now: look at it yourself, do not wait for another alert. The rule was changed or removed: this alert ends, and fires anew only where a new rule holds. What it watched may be no better.",
  noLongerWatched: "Now: look at it yourself; perpwatch sends nothing more about it. It may be no better.",
};

/** The time that figures of what is gone are from; left out: they are the last ones. */
const beforeEnding: Readonly<Partial<Record<Ending, string>>> = {
  closed: "from before it was closed",
  liquidated: "from before the liquidation",
  deleveraged: "from before the deleveraging",
  flipped: "from before it changed its side",
};

/**
 * The subject is no more, or no longer judged: summary and description are its last ones, and "is 4 % from liquidation"
 * must not be read as the present. A recovery is judged like a beginning, so its texts are of the moment.
 */
export function isGone({ kind, alert }: AlertChange): boolean {
  if (kind !== "ended" || alert.ending === null) return false;
  return alert.ending !== "recovered" && alert.ending !== "explained";
}

/** Says of which time the figures of what is gone are; nothing where it has none. */
export function figuresTime({ alert, details, happenedMs }: AlertChange, zone: string): string[] {
  if (details.length === 0 || alert.ending === null) return [];
  const where = beforeEnding[alert.ending];
  const which = where === undefined ? "The figures are the last ones" : `The figures are ${where}`;
  // A state may have been read after what happened that does not show it yet.
  const seen =
    happenedMs !== null && alert.dataAtMs > happenedMs
      ? ` at ${formatTime(happenedMs, zone)}`
      : `, seen ${formatTime(alert.dataAtMs, zone)}`;
  return [`${which}${seen}.`];
}

export function meaningOf({ alert, stands }: AlertChange): string[] {
  if (alert.ending === null) return [];
  if (alert.ending === "recovered" && stands === "noData")
    return ["What this alert listed is read again. Other data are still missing."];
  if (alert.ending === "recovered" && stands === "firing")
    return ["What this alert listed is read again. Look at what fires now."];
  if (alert.ending === "closed" && stands === "another")
    return ["It was replaced by another position of the same name, which is watched as a new one."];
  if (alert.ending === "closed" && stands === "noPositions")
    return ["The account has no positions any more."];
  if (alert.ending === "recovered") return [];
  if (alert.ending === "flipped" && (stands === "long" || stands === "short"))
    return [`The position changed its side: it is ${stands} now, and watched as a new one.`];
  if (alert.ending === "ruleChanged" && alert.acknowledgedBy !== null)
    return [
      endingMeaning.ruleChanged,
      `The acknowledgement by ${cleanLine(alert.acknowledgedBy)} ends with it.`,
    ];
  if (!isTaking(alert.ending)) return [endingMeaning[alert.ending]];
  return [takingMeaning(alert, alert.ending, stands)];
}

/** Says what to look at after the exchange took something. */
function takingMeaning(
  { subject, symbol }: AlertChange["alert"],
  ending: Taking,
  stands: AlertChange["stands"],
): string {
  const account = cleanLine(subject).split("/").slice(0, 2).join("/");
  const took = ending === "deleveraged" ? "auto-deleveraged" : "liquidated";
  if (stands === "noPositions")
    return `Now: look at what is left of the collateral of ${account}; the exchange ${took} what it held.`;
  if (symbol === null)
    return `Now: look at what is left of ${account}; the exchange ${took} something of it.`;
  const look =
    ending === "deleveraged"
      ? "look whether a hedge of it elsewhere stands alone"
      : `look at what is left of ${account}`;
  const other =
    stands === "another"
      ? " Another one of the same name stands there now, and is watched as a new one."
      : "";
  return `Now: ${look}; the exchange ${took} the position.${other}`;
}
