/** Compares the rights of each trader account with its earlier ones. A lost or gained right is an event. */

import { z } from "zod";
import type { Event } from "../../domain/event.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import { FactKind, type Facts } from "../../domain/stored/facts.ts";
import { rightChanges, rightsOf } from "../markets/own-events.ts";
import type { AccountEntry } from "./account-entry.ts";

export const capabilitiesFact = new FactKind("capabilities", z.record(z.string(), z.string()));

/** Rights in the forms for history and for rules. */
interface Written {
  readonly value: string;
  readonly held: Readonly<Record<string, boolean>>;
}

export class Rights {
  readonly #facts: Facts;
  /** The rights that were stored since the start, by account: an account that reappears is compared with them. */
  readonly #put = new Map<string, Readonly<Record<string, string>>>();
  /** The newest result, reused because nearly all accounts have the same rights. */
  #last: Written | null = null;
  readonly #isOurs: (wallet: string) => boolean;
  readonly #happened: (event: Event, builder: ChangesBuilder) => void;

  constructor(options: {
    /** Stored facts as of the start. */
    readonly facts: Facts;
    /** True if the stored facts of a wallet name belong to its present key. */
    readonly isOurs: (wallet: string) => boolean;
    readonly happened: (event: Event, builder: ChangesBuilder) => void;
  }) {
    this.#facts = options.facts;
    this.#isOurs = options.isOurs;
    this.#happened = options.happened;
  }

  compare(account: AccountEntry, builder: ChangesBuilder): void {
    const { capabilities } = account.state;
    const seen = account.rights;
    if (seen === capabilities) return;
    const rights = rightsOf(capabilities);
    // An answer without rights removes none.
    if (Object.keys(rights).length === 0) return;
    account.rights = capabilities;
    const { name } = account.node;
    const known = this.#isOurs(account.ref.wallet) ? capabilitiesFact.get(this.#facts, name) : null;
    const before = seen ? rightsOf(seen) : (this.#put.get(name) ?? known);
    const events = before === null ? [] : rightChanges(account.ref, before, rights, builder.atMs);
    const { value, held } = this.#shared(rights);
    account.node.facts.values.capabilities = held;
    if (before === null || JSON.stringify(before) !== value) {
      this.#put.set(name, rights);
      capabilitiesFact.put(name, rights, builder);
    }
    for (const event of events) this.#happened(event, builder);
  }

  #shared(rights: Readonly<Record<string, string>>): Written {
    const value = JSON.stringify(rights);
    if (this.#last?.value !== value) {
      const held = Object.fromEntries(Object.entries(rights).map(([name, word]) => [name, word !== "no"]));
      this.#last = { value, held };
    }
    return this.#last;
  }
}
