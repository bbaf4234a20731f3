/** The stored session of a wallet, under a key of its own. A store that fails is tried again, and takes no session away. */
import type { Clock } from "../domain/clock.ts";
import type { SessionStore } from "../domain/ports.ts";
import { SignerUnavailable } from "../signer/signer.ts";
import { open, seal } from "../wallet/seal.ts";
import { cleanText } from "./errors.ts";
import type { SessionWallet } from "./session-parts.ts";
import { fromStored, storedForm, type Tokens } from "./tokens.ts";

const saveAgainMs = 5_000;

export interface StoredSessionOptions {
  readonly store: SessionStore;
  readonly clock: Clock;
  /** A store that fails, stored bytes that do not open. */
  readonly onTrouble: (wallet: string, detail: string) => void;
}

export class StoredSession {
  readonly #wallet: SessionWallet;
  readonly #options: StoredSessionOptions;
  #sealing: Promise<Uint8Array> | null = null;
  /** The tokens to be stored, also when the store is back. */
  #wanted: Tokens | null = null;
  #cancelSave: (() => void) | null = null;

  constructor(wallet: SessionWallet, options: StoredSessionOptions) {
    this.#wallet = wallet;
    this.#options = options;
  }

  /** The stored session; null when there is none that can be read; "sealed" while the signer cannot be asked for its key. */
  async read(): Promise<Tokens | "sealed" | null> {
    const { store, onTrouble } = this.#options;
    const { name, key } = this.#wallet;
    try {
      const sealed = await store.load(name);
      return sealed && fromStored(open(await this.#sealKey(), key.address, sealed));
    } catch (error) {
      if (error instanceof SignerUnavailable) return "sealed";
      onTrouble(name, "the stored session cannot be read; a new one replaces it");
      return null;
    }
  }

  /** Writes new tokens down, now or when the store is back; never rejects. */
  async keep(tokens: Tokens): Promise<void> {
    this.#wanted = tokens;
    try {
      await this.#save(tokens);
    } catch (error) {
      this.#options.onTrouble(
        this.#wallet.name,
        `session could not be stored: ${error instanceof Error ? cleanText(error.message) : "failed"}`,
      );
      this.#saveLater(tokens);
    }
  }

  /** The tokens that were kept last are in use no longer: they are not stored when the store is back. */
  outdated(): void {
    this.#wanted = null;
  }

  /** Stops waiting for the store. */
  cancel(): void {
    this.#cancelSave?.();
  }

  async remove(): Promise<void> {
    await this.#options.store.remove(this.#wallet.name);
  }

  async #save(tokens: Tokens): Promise<void> {
    const { name, key } = this.#wallet;
    await this.#options.store.save(name, seal(await this.#sealKey(), key.address, storedForm(tokens)));
    this.#cancelSave?.();
    this.#cancelSave = null;
  }

  /** Asked for once: a session stays readable while the signer is away. */
  #sealKey(): Promise<Uint8Array> {
    this.#sealing ??= this.#wallet.key.sessionKey().catch((error: unknown) => {
      this.#sealing = null;
      throw error;
    });
    return this.#sealing;
  }

  #saveLater(tokens: Tokens): void {
    this.#cancelSave?.();
    this.#cancelSave = this.#options.clock.after(saveAgainMs, () => {
      if (this.#wanted !== tokens) return;
      this.#save(tokens).catch(() => this.#saveLater(tokens));
    });
  }
}
