/** Names of what is at the exchange, as subjects of rules and the configuration have them. */

interface Named {
  readonly wallet: { readonly name: string };
  readonly pdaIndex: number;
  readonly subaccount: number;
}

export const nameOf = ({ wallet, pdaIndex, subaccount }: Named): string =>
  `${wallet.name}/${pdaIndex}.${subaccount}`;

/** A leg of a pair, as the configuration writes it. */
export const legText = (
  {
    wallet,
    account,
  }: {
    readonly wallet: string;
    readonly account: { readonly pdaIndex: number; readonly subaccount: number } | null;
  },
  symbol: string,
): string =>
  account === null ? `${wallet}/${symbol}` : `${wallet}/${account.pdaIndex}.${account.subaccount}/${symbol}`;

/** A wallet of a stranger, watched for its large positions. */
export const isWhale = ({ labels }: { readonly labels: Readonly<Record<string, string>> }): boolean =>
  labels.watch === "whale";
