/** Figures of accounts and wallets in texts about events: as they were known when the event was told of. */
import { type Claim, claimsOf, money, percent, type Text } from "../predicate.ts";
import { accountOf, type View, walletOf } from "../view.ts";
import { accountClaims } from "./liquidation.ts";

type Figures = (view: View, subject: string, text: Text) => readonly Claim[];

const ofAccount: Figures = (view, subject, text) => {
  const account = accountOf(subject);
  return [
    ...accountClaims(view, account, text),
    ...claimsOf(text, [
      ["margin ratio", new RegExp(`[Mm]argin ratio ${percent}`), view.account(account)?.ratio],
    ]),
  ];
};

const ofWallet: Figures = (view, subject, text) =>
  claimsOf(text, [["equity", new RegExp(`Equity ${money}`), view.money.now(walletOf(subject))?.equity]]);

/** By rule. */
export const eventFigures: ReadonlyMap<string, Figures> = new Map([
  ["LockedIn", ofAccount],
  ["UnusualWithdrawal", ofAccount],
  ["Liquidated", ofAccount],
  ["SpotCollateralLiquidated", ofWallet],
]);
