/** A reload of the same configuration changes nothing that is shown: what was known and judged before it is so after it. */
import type { Observation } from "../../src/domain/observation.ts";
import type { Invariant } from "./invariants.ts";
import type { Logged } from "./log.ts";

type Shown = Extract<Logged, { kind: "shown" }>;

/** A reload takes less, ms: later something else may have come about. */
const atOnceMs = 500;
/** Data that are missing for so long are told; before that it may be another source that is missing, ms. */
const missingMs = 30_000;
/** Figures of a wallet, but for those of its inbox, are not forgotten for longer, ms. */
const laterMs = 10_000;

export const reloadForgetsNothing: Invariant = ({ log, plan }) => {
  const wrong: string[] = [];
  const { midnightMs } = plan.start;
  const beginMs = log.entries[0]!.atMs;
  /** True if a row that cannot be read may leave a figure unknown soon after a time. */
  const isGarbled = (atMs: number): boolean =>
    plan.troubles.faults.some(
      ({ kind, fromMs, toMs }) =>
        kind === "garbled" && beginMs + fromMs <= atMs + laterMs && atMs <= beginMs + toMs,
    );
  /** True if nothing can be read at a time: any of what a rule lacks stands for the rest. */
  const isOutage = (atMs: number): boolean =>
    plan.troubles.faults.some(
      ({ kind, fromMs, toMs }) => kind === "outage" && beginMs + fromMs <= atMs && atMs <= beginMs + toMs,
    );
  let before: Shown | null = null;
  let reloadedMs: number | null = null;
  let isTold = false;
  let pricedMs = Number.NEGATIVE_INFINITY;
  for (const entry of log.entries) {
    if (entry.kind === "committed" && entry.changes.observations.some(({ kind }) => kind === "prices"))
      pricedMs = entry.atMs;
    if (entry.kind === "committed" && entry.changes.observations.some(tells)) isTold = true;
    if (entry.kind === "life") reloadedMs = entry.text === "is reloaded" ? entry.atMs : null;
    if (entry.kind !== "shown") continue;
    if (reloadedMs !== null && before?.life === entry.life) {
      const at = new Date(reloadedMs).toISOString();
      const [fromMs, toMs] = [before.nowMs, entry.nowMs];
      // A day that begins knows nothing of itself.
      const isDay = midnightMs === null || midnightMs < fromMs || midnightMs > toMs;
      const found =
        entry.atMs - before.atMs <= atOnceMs
          ? isTold
            ? []
            : forgotten(before, entry, isOutage(reloadedMs), entry.atMs - pricedMs <= laterMs)
          : entry.atMs - reloadedMs <= laterMs && isDay && !isGarbled(reloadedMs)
            ? less(ofWallets(before, entry, before), ofWallets(entry, entry, before))
            : [];
      for (const one of found) wrong.push(`the reload at ${at} forgot ${one}`);
    }
    // What is shown before a reload stands for the time after it.
    if (reloadedMs === null || entry.atMs - reloadedMs > laterMs) {
      [before, reloadedMs] = [entry, null];
      isTold = false;
    }
  }
  return wrong;
};

/** Observations that tell nothing of the exchange. */
const ofItself: ReadonlySet<string> = new Set(["time", "daemon", "watching", "started", "stopped"]);
const tells = ({ kind }: Observation): boolean => !ofItself.has(kind);

const less = (before: ReadonlySet<string>, after: ReadonlySet<string>): readonly string[] =>
  [...before].filter((one) => !after.has(one));

/** Names of the positions of a wallet. */
const heldBy = ({ accounts }: Shown["wallets"][number]): readonly string[] =>
  accounts.flatMap(({ positions }) => positions.map(({ name }) => name));

/**
 * Figures of wallets that have them: a change that is not explained yet has no profit, and of the market of a new position less may
 * be known. @param later when they are shown again
 */
const ofWallets = ({ wallets }: Shown, later: Shown, before: Shown): ReadonlySet<string> =>
  new Set(
    wallets
      .filter((one) => later.wallets.some(({ name, unexplained }) => name === one.name && !unexplained))
      .filter(({ name }) => {
        const [is, was] = [later, before].map((shown) => shown.wallets.find((one) => one.name === name));
        return is && was && heldBy(is).every((position) => heldBy(was).includes(position));
      })
      .flatMap(({ name, figures }) => Object.keys(figures).map((figure) => `${figure} of ${name}`)),
  );

/**
 * @param isOutage which of several missing sources is named says nothing, and what gets too old meanwhile is no matter of the reload
 * @param arePriced prices were read a moment ago: that they were missing is about to be over
 */
function forgotten(before: Shown, after: Shown, isOutage: boolean, arePriced: boolean): readonly string[] {
  const figuresOf = ({ wallets }: Shown): ReadonlySet<string> =>
    new Set(
      wallets.flatMap((wallet) =>
        [wallet, ...wallet.accounts, ...wallet.accounts.flatMap(({ positions }) => positions)].flatMap(
          ({ name, figures }) => Object.keys(figures).map((figure) => `${figure} of ${name}`),
        ),
      ),
    );
  const judgedOf = ({ unjudged }: Shown): ReadonlySet<string> =>
    new Set(unjudged.map(({ rule, subject }) => `${rule} ${subject}`));
  const alertsOf = ({ firing }: Shown): ReadonlySet<string> =>
    new Set(firing.map(({ id, rule, subject }) => `alert ${id}, ${rule} ${subject}`));
  const blindOf = ({ blind, nowMs }: Shown): ReadonlySet<string> =>
    new Set(
      blind
        .filter(({ source, sinceMs }) => sinceMs <= nowMs - missingMs && !(arePriced && source === "markets"))
        .map(({ wallet, source, sinceMs }) => `that ${source} of ${wallet} is missing since ${sinceMs}`),
    );
  const unjudged = judgedOf(before);
  return [
    ...less(figuresOf(before), figuresOf(after)),
    ...after.unjudged.flatMap(({ rule, subject, detail }) =>
      unjudged.has(`${rule} ${subject}`) || (isOutage && detail.includes("too old"))
        ? []
        : [`how to judge ${rule} of ${subject}: ${detail}`],
    ),
    ...less(alertsOf(before), alertsOf(after)),
    ...(isOutage && after.blind.length > 0 ? [] : less(blindOf(before), blindOf(after))),
  ];
}
