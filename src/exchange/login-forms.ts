/**
 * The form of login text that wallets sign: pinned when it is first seen and plain, or accepted by a person. Any other form is
 * refused, for all wallets, until somebody accepts it.
 *
 *   form of a text ──► the pinned one? ── yes ─► signed
 *                            │ no
 *                            ├─ none is pinned, and it is a plain login of this exchange ─► pinned, signed
 *                            └─ refused; `perpwatch wallet trust` shows it beside the pinned one, and accepts it
 */
import type { LoginFormStatus, SessionStore } from "../domain/ports.ts";
import { formOf, type LoginText } from "../wallet/challenge-text.ts";
import { BadChallenge } from "../wallet/transaction.ts";
import { loopback } from "./settings.ts";

/** Beside the sessions of wallets; no wallet is called that. */
const storedName = ":login-form";

/** Host names, and addresses of IPv4. */
const hosts = /(?<![\w@.-])(?:(?:[a-z0-9-]+\.)+[a-z]{2,}|localhost|\d{1,3}(?:\.\d{1,3}){3})(?![\w-])/gi;
/** Words of which a mere login has no need. They may stand in a harmless text, which a person then accepts. */
const beyondLogin =
  /\b(?:transfer|withdraw|send|spend|approv|delegat|authori[sz]e|permission|api[ -]?key|funds|balance|order|seed|mnemonic|transaction)/i;

/** A time that was not taken as one. */
const year = /\b(?:19|2\d|99)\d\d\b/;

export interface LoginFormsOptions {
  readonly store: SessionStore;
  readonly baseUrl: string;
  /** The host that the text has to name; null: none has to, and one that it names has to belong to that of `baseUrl`. */
  readonly domain: string | null;
  /** For the log. @param by who accepted it; null: it was the first, and plain */
  readonly onPinned: (form: string, by: string | null) => void;
}

export class LoginForms {
  readonly #options: LoginFormsOptions;
  #pinned: Promise<string | null> | null = null;
  #refused: LoginFormStatus["refused"] = null;
  /** The store did not take the pinned form yet. */
  #isUnsaved = false;

  constructor(options: LoginFormsOptions) {
    this.#options = options;
  }

  /** @throws {BadChallenge} when the text may not be signed */
  async check(text: LoginText): Promise<void> {
    const form = formOf(text);
    const pinned = await this.#load();
    if (form === pinned) {
      this.#refused = null;
      if (this.#isUnsaved) await this.#save(form);
      return;
    }
    const reason =
      pinned === null
        ? this.#beyondPlain(text.text, form)
        : "the login text has another form than the one that was trusted";
    if (reason === null) {
      await this.#pin(form, null);
      return;
    }
    this.#refused = { form, reason };
    throw new BadChallenge(`${reason}; see: perpwatch wallet trust`);
  }

  async status(): Promise<LoginFormStatus> {
    return { pinned: await this.#load(), refused: this.#refused };
  }

  /** The reason of a refusal that stands, for people; empty: none does. */
  get trouble(): string {
    return this.#refused?.reason ?? "";
  }

  /** Accepts a form that was refused. @returns false where that is not the one that was refused last */
  async trust(form: string, by: string): Promise<boolean> {
    if (this.#refused?.form !== form) return false;
    await this.#pin(form, by);
    return true;
  }

  /** The reason why a first form is not pinned by itself; null: it is. */
  #beyondPlain(text: string, form: string): string | null {
    const { domain, baseUrl } = this.#options;
    const named = [...new Set((text.match(hosts) ?? []).map((host) => host.toLowerCase()))];
    const own = new URL(baseUrl).hostname;
    if (domain !== null && !named.includes(domain))
      return `the login text does not name ${domain} (exchange.loginDomain)`;
    const foreign = named.find((host) => host !== domain && !belongsTo(host, own));
    if (foreign !== undefined) return `the login text names ${foreign}, which is not the exchange`;
    if (/wants you to sign in/i.test(text) && named.length === 0)
      return "the login text does not say for which site it is";
    if (year.test(form)) return "the login text names a year";
    const word = beyondLogin.exec(text)?.[0];
    return word === undefined
      ? null
      : `the login text speaks of more than a login ("${word.toLowerCase()}…")`;
  }

  async #pin(form: string, by: string | null): Promise<void> {
    this.#pinned = Promise.resolve(form);
    this.#refused = null;
    this.#options.onPinned(form, by);
    await this.#save(form);
  }

  /** A store that fails keeps no wallet out: the form is pinned in memory, and stored with the next sign-in. */
  async #save(form: string): Promise<void> {
    this.#isUnsaved = true;
    await this.#options.store.save(storedName, new TextEncoder().encode(form)).then(
      () => {
        this.#isUnsaved = false;
      },
      () => {},
    );
  }

  #load(): Promise<string | null> {
    this.#pinned ??= this.#options.store.load(storedName).then(
      (bytes) => (bytes === null ? null : new TextDecoder().decode(bytes)),
      (error) => {
        this.#pinned = null;
        throw error;
      },
    );
    return this.#pinned;
  }
}

/** The same host, or one under the same registered name: `app.phoenix.trade` beside `perp-api.phoenix.trade`. */
function belongsTo(host: string, own: string): boolean {
  if (host === own || (loopback.test(host) && loopback.test(own))) return true;
  const nameOf = (one: string) => one.split(".").slice(-2).join(".");
  return !/^[\d.]+$/.test(own) && own.includes(".") && nameOf(host) === nameOf(own);
}
