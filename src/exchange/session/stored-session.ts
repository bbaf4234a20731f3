/** The stored session of a wallet, encrypted with a separate key. A failing store is retried, and loses no session. */
import type { Clock } from "../../domain/clock.ts";
import type { SessionStore } from "../../domain/ports.ts";
import { SignerUnavailable } from "../../signer/signer.ts";
import { open, seal } from "../../wallet/seal.ts";
import { cleanText } from "../errors.ts";
import type { SessionWallet } from "./session-parts.ts";
import { fromStored, storedForm, type Tokens } from "./tokens.ts";

const saveAgainMs = 5_000;

export interface StoredSessionOptions {
  readonly store: SessionStore;
  readonly clock: Clock;
  /** Called for a failing store, or stored data that cannot be decrypted. */
  readonly onTrouble: (wallet: string, detail: string) => void;
}

export class StoredSession {
  readonly #wallet: SessionWallet;
  readonly #options: StoredSessionOptions;
  #sealKeyPromise: Promise<Uint8Array> | null = null;
  /** The tokens to store, also when the store is back. */
  #wanted: Tokens | null = null;
  #cancelSave: (() => void) | null = null;

  constructor(wallet: SessionWallet, options: StoredSessionOptions) {
    this.#wallet = wallet;
    this.#options = options;
  }

  /**
   * Returns the stored session; null if there is no readable one; "unavailable" while the signer with its key is
   * unavailable.
   */
  async read(): Promise<Tokens | "unavailable" | null> {
    const { store, onTrouble } = this.#options;
    const { name, key } = this.#wallet;
    try {
      const encrypted = await store.load(name);
      return encrypted && fromStored(open(await this.#sealKey(), key.address, encrypted));
    } catch (error) {
      if (error instanceof SignerUnavailable) return "unavailable";
      onTrouble(name, "the stored session cannot be read; a new one replaces it");
      return null;
    }
  }

  /** Stores new tokens, now or when the store is back; never rejects. */
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

  /** Discards tokens that still wait for the store: they are no longer in use. */
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

  /** Requested once: a session stays readable while the signer is unavailable. */
  #sealKey(): Promise<Uint8Array> {
    this.#sealKeyPromise ??= this.#wallet.key.sessionKey().catch((error: unknown) => {
      this.#sealKeyPromise = null;
      throw error;
    });
    return this.#sealKeyPromise;
  }

  #saveLater(tokens: Tokens): void {
    this.#cancelSave?.();
    this.#cancelSave = this.#options.clock.after(saveAgainMs, () => {
      if (this.#wanted !== tokens) return;
      this.#save(tokens).catch(() => this.#saveLater(tokens));
    });
  }
}
