/**
 * The forms of login texts, and of the memos of login transactions, that wallets sign: pinned when they are first seen and plain, or
 * accepted by a person. Any other form is refused, for all wallets, until somebody accepts it.
 *
 *   form of a text ──► the pinned one? ── yes ─► signed
 *                            │ no
 *                            ├─ none is pinned, and it is a plain login of this exchange ─► pinned, signed
 *                            └─ refused; `perpwatch wallet trust` shows it beside the pinned one, and accepts it
 */
import type { LoginFormStatus, SessionStore } from "../domain/ports.ts";
import { formOf, type LoginText } from "../wallet/challenge-text.ts";
import { BadChallenge } from "../wallet/transaction.ts";
import { plainness } from "./plain-login.ts";

export type LoginFormKind = "text" | "memo";

/** Beside the sessions of wallets; no wallet is called that. */
const storedNames: Readonly<Record<LoginFormKind, string>> = { text: ":login-form", memo: ":login-memo" };

export interface LoginFormsOptions {
  /** Beside the sessions. What fails to be stored is kept in memory, and stored with the next login. */
  readonly store: Pick<SessionStore, "load" | "save">;
  readonly baseUrl: string;
  /** The host that the text has to name; null: none has to, and one that it names has to be that of `baseUrl`. */
  readonly domain: string | null;
  /** For the log. @param by who accepted it; null: it was the first, and plain */
  readonly onPinned: (form: string, by: string | null) => void;
}

interface Refused {
  readonly kind: LoginFormKind;
  /** Null: no person can accept it. */
  readonly form: string | null;
  readonly reason: string;
  readonly address: string;
}

export class LoginForms {
  readonly #options: LoginFormsOptions;
  readonly #pinned = new Map<LoginFormKind, string | null>();
  readonly #unsaved = new Set<LoginFormKind>();
  #refused: Refused | null = null;
  /** One at a time, so that two first texts do not both become the pinned one. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: LoginFormsOptions) {
    this.#options = options;
  }

  /** @throws {BadChallenge} when the text may not be signed */
  check(text: LoginText, kind: LoginFormKind = "text"): Promise<void> {
    return this.#inTurn(() => this.#check(text, kind));
  }

  status(): Promise<LoginFormStatus> {
    return this.#inTurn(async () => {
      const kind = this.#refused?.kind ?? ((await this.#load("text")) === null ? "memo" : "text");
      const { form = null, reason = "" } = this.#refused ?? {};
      return { pinned: await this.#load(kind), refused: this.#refused && { form, reason } };
    });
  }

  /** The reason of a refusal that stands, for people; empty: none does. */
  get trouble(): string {
    return this.#refused?.reason ?? "";
  }

  /** Accepts a form that was refused. @returns false where that is not the one that was refused last */
  trust(form: string, by: string): Promise<boolean> {
    return this.#inTurn(async () => {
      if (this.#refused?.form !== form) return false;
      await this.#pin(this.#refused.kind, form, by);
      return true;
    });
  }

  async #check(text: LoginText, kind: LoginFormKind): Promise<void> {
    const { address } = text;
    const refuse = (form: string | null, reason: string): never => {
      this.#refused = { kind, form, reason, address };
      throw new BadChallenge(form === null ? reason : `${reason}; see: perpwatch wallet trust`);
    };
    let form: string;
    try {
      form = formOf(text, kind === "memo");
    } catch (error) {
      if (!(error instanceof BadChallenge)) throw error;
      return refuse(null, error.message);
    }
    const pinned = await this.#load(kind);
    if (form === pinned) {
      if (this.#refused?.address === address) this.#refused = null;
      if (this.#unsaved.has(kind)) await this.#save(kind, form);
      return;
    }
    const named = kind === "text" ? "login text" : "memo of the login transaction";
    if (pinned !== null) return refuse(form, `the ${named} has another form than the one that was trusted`);
    const { baseUrl, domain } = this.#options;
    const reason = plainness(form, new URL(baseUrl).hostname, kind === "text" ? domain : null);
    if (reason !== null) return refuse(form, `the ${named} ${reason}`);
    await this.#pin(kind, form, null);
  }

  async #pin(kind: LoginFormKind, form: string, by: string | null): Promise<void> {
    this.#pinned.set(kind, form);
    this.#refused = null;
    this.#options.onPinned(form, by);
    await this.#save(kind, form);
  }

  /** A store that fails keeps no wallet out. */
  async #save(kind: LoginFormKind, form: string): Promise<void> {
    this.#unsaved.add(kind);
    await this.#options.store.save(storedNames[kind], new TextEncoder().encode(form)).then(
      () => void this.#unsaved.delete(kind),
      () => {},
    );
  }

  async #load(kind: LoginFormKind): Promise<string | null> {
    const known = this.#pinned.get(kind);
    if (known !== undefined) return known;
    const bytes = await this.#options.store.load(storedNames[kind]);
    const form = bytes === null ? null : new TextDecoder().decode(bytes);
    this.#pinned.set(kind, form);
    return form;
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const own = this.#last.then(act, act);
    this.#last = own.catch(() => {});
    return own;
  }
}
