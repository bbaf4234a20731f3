/** Names of what is at the exchange, as subjects of rules have them. */

interface Named {
  readonly wallet: { readonly name: string };
  readonly pdaIndex: number;
  readonly subaccount: number;
}

export const nameOf = ({ wallet, pdaIndex, subaccount }: Named): string =>
  `${wallet.name}/${pdaIndex}.${subaccount}`;
