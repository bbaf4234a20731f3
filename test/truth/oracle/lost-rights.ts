/** Rights that accounts lost, from one answer that the daemon had to the next one, over all its lives. */
import type { SubaccountState } from "../../../src/domain/account.ts";
import type { Outcome } from "../scenario.ts";
import type { Happened } from "./happened.ts";
import { livesOf } from "./lives.ts";
import { claimsOf } from "./predicate.ts";

/** Without these nobody gets out. */
const waysOut: ReadonlySet<string> = new Set(["riskReducingTrade", "withdrawCollateral"]);

export const rightsRules: readonly string[] = ["RightLost", "LockedIn"];

type Words = Readonly<Record<string, string>>;

function wordsOf({ capabilities }: SubaccountState): Words {
  return Object.fromEntries(
    Object.entries(capabilities).map(([name, { immediate, viaColdActivation }]) => [
      name,
      immediate ? "yes" : viaColdActivation ? "viaActivation" : "no",
    ]),
  );
}

/** The exchange's names as texts have them. */
const spaced = (name: string): string => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

export function lostRights({ log }: Outcome): readonly Happened[] {
  const known = new Map<string, Words>();
  return livesOf(log)
    .flatMap((life) => life.told)
    .flatMap(({ observation, committedMs }) => {
      if (observation.kind !== "accounts") return [];
      const { wallet, pdaIndex, subaccounts, told, atMs } = observation;
      return subaccounts.flatMap((state): Happened[] => {
        if (told !== undefined && !told.includes(state.subaccount)) return [];
        const subject = `${wallet}/${pdaIndex}.${state.subaccount}`;
        const is = wordsOf(state);
        const was = known.get(subject);
        // An answer that does not tell of them takes none away.
        if (Object.keys(is).length === 0) return [];
        known.set(subject, is);
        if (was === undefined) return [];
        const lost = Object.keys(is).filter((name) => is[name] === "no" && was[name] !== "no");
        return lost.map((name) => ({
          rule: waysOut.has(name) ? "LockedIn" : "RightLost",
          ...{ wallet, subject, atMs: committedMs, isObserved: true },
          what: `the loss of ${name}`,
          isIn: ({ eventKey }) => eventKey === `capability:${subject}:${name}:${atMs}`,
          claims: (text) =>
            claimsOf(text, [
              ["account", /^(\S+): the exchange/, subject],
              ["right", /took away the right (.+)$/, spaced(name)],
              ["state", /^The account is ([\w ]+)/, spaced(state.lifecycle)],
            ]),
        }));
      });
    });
}
