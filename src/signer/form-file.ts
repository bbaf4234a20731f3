/** Trusted forms of login in a file of their own, which `perpwatch wallet trust` changes beside a running signer. */
import { mkdirSync, statSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import { changeAlone, isRoot, readTextFile, replaceFile } from "../files/index.ts";
import { type FormStore, type KnownForms, noForms } from "./login-forms.ts";

const name = "login-forms.json";
const maxBytes = 65_536;

/** The file is no record of forms. */
export class BadForms extends Error {
  override readonly name = "BadForms";
}

const form = z.string().max(8_192);
const refusedForm = z.strictObject({
  kind: z.enum(["text", "memo"]),
  form: form.nullable(),
  reason: z.string().max(1_024),
  text: z.string().max(2_048).optional(),
  address: z.string().max(44),
});
const fileForm = z.strictObject({
  text: form.nullable(),
  memo: form.nullable(),
  // A record had one place for both kinds before.
  refused: z.union([
    z.array(refusedForm).max(2),
    refusedForm.nullable().transform((one) => (one === null ? [] : [one])),
  ]),
});

/** Records that have more than the above. */
const otherVersions = z.union([
  z.looseObject({ version: z.number() }),
  z.looseObject({ text: form.nullable(), memo: form.nullable() }),
]);

export interface FormFolders {
  /** Made when it is needed. */
  readonly state: string;
  /** The folder where the record was before: it counts until there is one in `state`, so that first trust is not open again. */
  readonly formerState: string;
}

export function formFile({ state: folder, formerState }: FormFolders): FormStore & { readonly path: string } {
  const file = path.join(folder, name);
  const load = (): KnownForms => {
    const text = textOf(file);
    if (text !== null) return formsFromText(file, text);
    return folder === formerState ? noForms : formerForms(path.join(formerState, name), folder);
  };
  return {
    path: file,
    load: async () => load(),
    async change(by) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      await changeAlone(file, (isHeld) => {
        const now = load();
        const after = by(now);
        if (after !== now) replaceFile(file, `${JSON.stringify(after, null, 2)}\n`, isHeld);
      });
    },
  };
}

/** @throws {BadForms} where there is a record that cannot be taken over */
function formerForms(file: string, folder: string): KnownForms {
  try {
    const text = isHidden(path.dirname(file)) ? null : textOf(file, {});
    return text === null ? noForms : formsFromText(file, text);
  } catch (error) {
    if (!(error instanceof BadForms)) throw error;
    throw new BadForms(`${error.message}. If it is yours, move it into ${folder} as the signer's user`);
  }
}

/** True of a folder that this user may not enter, and so had no record in. */
function isHidden(folder: string): boolean {
  try {
    statSync(path.join(folder, name), { throwIfNoEntry: false });
    return false;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EACCES") return true;
    throw error;
  }
}

/**
 * Null where there is no such file.
 * @param owner of the file, beside this user and root. Root accepts for the signer's user
 * @throws {BadForms} when it cannot be read, or others can change it
 */
function textOf(file: string, owner: { owner?: "any" } = isRoot() ? { owner: "any" } : {}): string | null {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return null;
  const read = readTextFile(file, { largestBytes: maxBytes, ...owner });
  if ("wrong" in read) throw new BadForms(`${file} ${read.wrong}`);
  return read.text;
}

/** @throws {BadForms} when the text is none; nothing of the file is quoted: it may be any */
export function formsFromText(file: string, text: string): KnownForms {
  const broken = () =>
    new BadForms(`${file} is no record of trusted forms; remove it to trust the next plain login`);
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw broken();
  }
  const read = fileForm.safeParse(content);
  if (read.success) return read.data;
  if (!otherVersions.safeParse(content).success) throw broken();
  // All else that it holds may forbid what the forms allow.
  throw new BadForms(
    `${file} is of another version of perpwatch, and this one does not know all that it says: start that version again, or a newer ` +
      "one (or move the file away to trust the next plain login)",
  );
}
