/** The trader accounts in the stream, each with the mirror of its state. */
import { TraderMirror } from "../../exchange/index.ts";
import type { CollectedWallet } from "../collector.ts";

export interface Followed {
  readonly wallet: CollectedWallet;
  readonly pdaIndex: number;
  readonly mirror: TraderMirror;
}

export class FollowedTraders {
  readonly #byFamily = new Map<string, Followed>();
  readonly #byName = new Map<string, CollectedWallet>();

  constructor(wallets: readonly CollectedWallet[]) {
    for (const wallet of wallets) {
      this.#byName.set(wallet.name, wallet);
      for (const pdaIndex of wallet.pdaIndices)
        this.#byFamily.set(familyOf(wallet.authority, pdaIndex), {
          wallet,
          pdaIndex,
          mirror: new TraderMirror(),
        });
    }
  }

  /** @param family see `familyOf` */
  of(family: string): Followed | undefined {
    return this.#byFamily.get(family);
  }

  all(): Iterable<Followed> {
    return this.#byFamily.values();
  }

  wallet(name: string): CollectedWallet | undefined {
    return this.#byName.get(name);
  }

  names(): readonly string[] {
    return [...this.#byName.keys()];
  }
}

/** Returns the key of the subaccounts of one trader account. */
export function familyOf(authority: string, pdaIndex: number): string {
  return `${authority} ${pdaIndex}`;
}
