/**
 * The forms of login texts, and of the memos of login transactions, that wallets sign: pinned when they are first seen and plain, or
 * accepted by a person. Any other form is refused, for all wallets, until somebody accepts it.
 *
 *   form of a text ──► the pinned one? ── yes ─► signed
 *                            │ no
 *                            ├─ none is pinned, and it is a plain login of this exchange ─► pinned, signed
 *                            └─ refused; `perpwatch wallet trust` shows it beside the pinned one, and accepts it
 */
import { formOf, type LoginText } from "../wallet/challenge-text.ts";
import { BadChallenge } from "../wallet/transaction.ts";
import { firstDifference } from "./form-lines.ts";
import { plainness } from "./plain-login.ts";

export type LoginFormKind = "text" | "memo";

/** The form of its kind that was refused last. */
export interface RefusedForm {
  readonly kind: LoginFormKind;
  /** Null: no person can accept it. */
  readonly form: string | null;
  readonly reason: string;
  /** The text as it came, cut, where it has no form to show. */
  readonly text?: string | undefined;
  /** The wallet that it was asked of: its next login that passes ends the refusal. */
  readonly address: string;
}

/** All that is remembered of forms. */
export interface KnownForms {
  readonly text: string | null;
  readonly memo: string | null;
  /** One of a kind at most. */
  readonly refused: readonly RefusedForm[];
}

/** Characters of a refused text that are kept. */
const maxShown = 2_048;

export const noForms: KnownForms = { text: null, memo: null, refused: [] };

export interface FormStore {
  load(): Promise<KnownForms>;
  save(forms: KnownForms): Promise<void>;
}

/** Forms that are forgotten with the process. */
export function memoryForms(first: KnownForms = noForms): FormStore {
  let known = first;
  return {
    load: async () => known,
    save: async (forms) => {
      known = forms;
    },
  };
}

export interface LoginFormsOptions {
  /** Read before each text, so that a form is signed as soon as a person accepts it there. */
  readonly store: FormStore;
  readonly baseUrl: string;
  /** The host that the text has to name; null: none has to, and one that it names has to be that of `baseUrl`. */
  readonly domain: string | null;
  /** The first form was plain and is pinned; for the log. */
  readonly onPinned?: (form: string) => void;
  /** The store failed; for the log. It keeps no wallet out where a form is pinned: that holds in memory. */
  readonly onTrouble?: (error: unknown) => void;
}

export class LoginForms {
  readonly #options: LoginFormsOptions;
  /** As stored last, or as it should have been. */
  #known: KnownForms = noForms;
  #isUnsaved = false;
  /** One at a time, so that two first texts do not both become the pinned one. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: LoginFormsOptions) {
    this.#options = options;
  }

  /** @throws {BadChallenge} when the text may not be signed @throws {FormRefused} when a person may accept it */
  check(text: LoginText, kind: LoginFormKind = "text"): Promise<void> {
    const own = this.#last.then(() => this.#check(text, kind));
    this.#last = own.catch(() => {});
    return own;
  }

  async #check(text: LoginText, kind: LoginFormKind): Promise<void> {
    await this.#load();
    let form: string;
    try {
      form = formOf(text, kind === "memo");
    } catch (error) {
      if (error instanceof BadChallenge) await this.#refuse(text, kind, null, error.message);
      throw error;
    }
    const pinned = this.#known[kind];
    if (form === pinned) {
      const refused = this.#known.refused.filter(({ address }) => address !== text.address);
      if (refused.length < this.#known.refused.length) await this.#save({ ...this.#known, refused });
      else if (this.#isUnsaved) await this.#save(this.#known);
      return;
    }
    const named = kind === "text" ? "login text" : "memo of the login transaction";
    const { baseUrl, domain } = this.#options;
    const reason =
      pinned !== null
        ? `has another form than the one that was trusted: ${firstDifference(pinned, form)}`
        : plainness(form, new URL(baseUrl).hostname, kind === "text" ? domain : null);
    if (reason !== null) {
      await this.#refuse(text, kind, form, `the ${named} ${reason}`);
      throw new FormRefused(`the ${named} ${reason}`);
    }
    await this.#pin(kind, form);
  }

  /** @throws {BadChallenge} when it cannot be recorded: each start would trust the first form that it sees then */
  async #pin(kind: LoginFormKind, form: string): Promise<void> {
    const forms = trusting(this.#known, kind, form);
    try {
      await this.#options.store.save(forms);
    } catch (error) {
      this.#options.onTrouble?.(error);
      const reason = error instanceof Error ? error.message : String(error);
      throw new BadChallenge(
        `no form of login is trusted yet, and the first one cannot be recorded: ${reason}`,
      );
    }
    this.#known = forms;
    this.#isUnsaved = false;
    this.#options.onPinned?.(form);
  }

  async #refuse(
    { address, text }: LoginText,
    kind: LoginFormKind,
    form: string | null,
    reason: string,
  ): Promise<void> {
    const { refused } = this.#known;
    const before = refused.find((one) => one.kind === kind);
    if (before?.form === form && before.reason === reason && before.address === address && !this.#isUnsaved)
      return;
    const shown = form === null ? { text: text.slice(0, maxShown) } : {};
    const others = refused.filter((one) => one.kind !== kind);
    await this.#save({ ...this.#known, refused: [...others, { kind, form, reason, address, ...shown }] });
  }

  async #save(forms: KnownForms): Promise<void> {
    this.#known = forms;
    await this.#options.store.save(forms).then(
      () => {
        this.#isUnsaved = false;
      },
      (error) => {
        this.#isUnsaved = true;
        this.#options.onTrouble?.(error);
      },
    );
  }

  /**
   * Reads the store, unless something is not stored yet: that is newer.
   * @throws {BadChallenge} where nothing can be read and nothing is known: no text is the first one then
   */
  async #load(): Promise<void> {
    if (this.#isUnsaved) return;
    try {
      this.#known = await this.#options.store.load();
    } catch (error) {
      this.#options.onTrouble?.(error);
      if (this.#known !== noForms) return;
      const reason = error instanceof Error ? error.message : String(error);
      throw new BadChallenge(`the trusted forms of login cannot be read: ${reason}`);
    }
  }
}

/** A person may accept the form of this text. */
export class FormRefused extends BadChallenge {}

/** @returns the forms with the refused one of a kind accepted; null where none was refused that a person can accept */
export function accepted(forms: KnownForms, kind: LoginFormKind): KnownForms | null {
  const form = forms.refused.find((one) => one.kind === kind)?.form ?? null;
  return form === null ? null : trusting(forms, kind, form);
}

function trusting(forms: KnownForms, kind: LoginFormKind, form: string): KnownForms {
  return { ...forms, [kind]: form, refused: forms.refused.filter((one) => one.kind !== kind) };
}
