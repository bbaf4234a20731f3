/** A reload of the same configuration changes nothing that is shown: what was known and judged before it is so after it. */
import type { Invariant } from "./invariants.ts";
import type { Logged } from "./log.ts";

type Shown = Extract<Logged, { kind: "shown" }>;

/** A reload takes less, ms: later something else may have come about. */
const atOnceMs = 500;

export const reloadForgetsNothing: Invariant = ({ log }) => {
  const wrong: string[] = [];
  let before: Shown | null = null;
  let reloaded = false;
  for (const entry of log.entries) {
    if (entry.kind === "life") reloaded = entry.text === "is reloaded";
    if (entry.kind !== "shown") continue;
    if (reloaded && before?.life === entry.life && entry.atMs - before.atMs <= atOnceMs)
      for (const one of forgotten(before, entry))
        wrong.push(`the reload at ${new Date(entry.atMs).toISOString()} forgot ${one}`);
    [before, reloaded] = [entry, false];
  }
  return wrong;
};

function forgotten(before: Shown, after: Shown): readonly string[] {
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
  const unjudged = judgedOf(before);
  return [
    ...[...figuresOf(before)].filter((one) => !figuresOf(after).has(one)),
    ...after.unjudged.flatMap(({ rule, subject, detail }) =>
      unjudged.has(`${rule} ${subject}`) ? [] : [`how to judge ${rule} of ${subject}: ${detail}`],
    ),
    ...[...alertsOf(before)].filter((one) => !alertsOf(after).has(one)),
  ];
}
