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

const kinds = ["text", "memo"] as const;
export type LoginFormKind = (typeof kinds)[number];

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
  /**
   * Reads, changes and writes in one step, which no other process comes between. Rejects with what `by` throws.
   * @param by does not wait; where it returns what it is given, nothing is written
   */
  change(by: (now: KnownForms) => KnownForms): Promise<void>;
}

/** Forms that are forgotten with the process. */
export function memoryForms(first: KnownForms = noForms): FormStore {
  let known = first;
  return {
    load: async () => known,
    change: async (by) => {
      known = by(known);
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
    const asked = { ...text, kind, form: formOrReason(text, kind) };
    let verdict = this.#judge(await this.#load(), asked);
    if (verdict.after !== verdict.before || this.#isUnsaved) verdict = await this.#record(verdict, asked);
    if (verdict.refusal !== null) throw verdict.refusal;
  }

  #judge(known: KnownForms, asked: Asked): Verdict {
    const { kind, form, address } = asked;
    if (typeof form !== "string")
      return refusing(known, form, {
        ...{ kind, form: null, reason: form.message, text: asked.text.slice(0, maxShown), address },
      });
    const pinned = known[kind];
    if (form === pinned) {
      const refused = known.refused.filter((one) => one.address !== address);
      const after = refused.length < known.refused.length ? { ...known, refused } : known;
      return { before: known, after, refusal: null, pins: null };
    }
    const named = kind === "text" ? "login text" : "memo of the login transaction";
    const { baseUrl, domain } = this.#options;
    const reason =
      pinned !== null
        ? `has another form than the one that was trusted: ${firstDifference(pinned, form)}`
        : plainness(form, new URL(baseUrl).hostname, kind === "text" ? domain : null);
    if (reason === null)
      return { before: known, after: trusting(known, kind, form), refusal: null, pins: form };
    const refusal = new FormRefused(`the ${named} ${reason}`);
    return refusing(known, refusal, { kind, form, reason: refusal.message, address });
  }

  /**
   * Stores what a judgement leads to. It is made again by the record as it is then: another process may have changed it.
   * @throws {BadChallenge} when a first form cannot be recorded: each start would trust the first form that it sees then
   */
  async #record(first: Verdict, asked: Asked): Promise<Verdict> {
    let verdict = first;
    try {
      await this.#options.store.change((stored) => {
        verdict = this.#judge(this.#beside(stored), asked);
        return verdict.after;
      });
      this.#isUnsaved = false;
    } catch (error) {
      this.#options.onTrouble?.(error);
      if (verdict.pins !== null) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new BadChallenge(
          `no form of login is trusted yet, and the first one cannot be recorded: ${reason}`,
        );
      }
      this.#isUnsaved = true;
    }
    this.#known = verdict.after;
    if (verdict.pins !== null) this.#options.onPinned?.(verdict.pins);
    return verdict;
  }

  /** A stored record with what could not be stored. Where another form is trusted there, a person has decided since. */
  #beside(stored: KnownForms): KnownForms {
    if (!this.#isUnsaved) return stored;
    const of = (kind: LoginFormKind) =>
      stored[kind] === null || stored[kind] === this.#known[kind] ? this.#known : stored;
    const refused = kinds.flatMap((kind) => of(kind).refused.filter((one) => one.kind === kind));
    return { text: of("text").text, memo: of("memo").memo, refused };
  }

  /** @throws {BadChallenge} where nothing can be read and nothing is known: no text is the first one then */
  async #load(): Promise<KnownForms> {
    try {
      this.#known = this.#beside(await this.#options.store.load());
    } catch (error) {
      this.#options.onTrouble?.(error);
      if (this.#known === noForms) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new BadChallenge(`the trusted forms of login cannot be read: ${reason}`);
      }
    }
    return this.#known;
  }
}

interface Asked extends LoginText {
  readonly kind: LoginFormKind;
  /** An error: no wallet may sign such a text. */
  readonly form: string | BadChallenge;
}

interface Verdict {
  readonly before: KnownForms;
  /** The same object as `before` where nothing changes. */
  readonly after: KnownForms;
  /** Null: it is signed. */
  readonly refusal: BadChallenge | null;
  /** The form that is trusted from now on; null: as before. */
  readonly pins: string | null;
}

function formOrReason(text: LoginText, kind: LoginFormKind): string | BadChallenge {
  try {
    return formOf(text, kind === "memo");
  } catch (error) {
    if (error instanceof BadChallenge) return error;
    throw error;
  }
}

function refusing(known: KnownForms, refusal: BadChallenge, one: RefusedForm): Verdict {
  const last = known.refused.find(({ kind }) => kind === one.kind);
  const isKnown =
    last?.form === one.form &&
    last.reason === one.reason &&
    last.text === one.text &&
    last.address === one.address;
  const others = known.refused.filter(({ kind }) => kind !== one.kind);
  const after = isKnown ? known : { ...known, refused: [...others, one] };
  return { before: known, after, refusal, pins: null };
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
