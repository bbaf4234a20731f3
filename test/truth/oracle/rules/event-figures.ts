/** Figures of accounts and wallets in texts about events: as they were known when the event was told of. */
import { type Claim, claimsOf, money, percent, type Text } from "../predicate.ts";
import { accountOf, type View, walletOf } from "../view.ts";
import { accountClaims } from "./liquidation.ts";

/** The part of a view that they need. */
type Known = Pick<View, "account"> & { readonly money: Pick<View["money"], "now"> };

type Figures = (known: Known, subject: string, text: Text) => readonly Claim[];

const ofAccount: Figures = (known, subject, text) => {
  const account = accountOf(subject);
  return [
    ...accountClaims(known, account, text),
    ...claimsOf(text, [
      ["margin ratio", new RegExp(`[Mm]argin ratio ${percent}`), known.account(account)?.ratio],
    ]),
  ];
};

const ofWallet: Figures = (known, subject, text) =>
  claimsOf(text, [["equity", new RegExp(`Equity ${money}`), known.money.now(walletOf(subject))?.equity]]);

const nothing: Known = { account: () => undefined, money: { now: () => undefined } };

/** The same where nobody knows them. */
export function unknownFigures(rule: string, subject: string, text: Text): readonly Claim[] {
  return eventFigures.get(rule)?.(nothing, subject, text) ?? [];
}

/** By rule. */
export const eventFigures: ReadonlyMap<string, Figures> = new Map([
  ["LockedIn", ofAccount],
  ["UnusualWithdrawal", ofAccount],
  ["Liquidated", ofAccount],
  ["SpotCollateralLiquidated", (...of) => [...ofAccount(...of), ...ofWallet(...of)]],
]);
