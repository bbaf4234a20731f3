/** Trusted forms of login in a file of their own, which `perpwatch wallet trust` changes beside a running signer. */
import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { distrusted, isRoot } from "../files/index.ts";
import { type FormStore, type KnownForms, noForms } from "./login-forms.ts";

const name = "login-forms.json";
const mostBytes = 65_536;

/** The file is no record of forms. */
export class BadForms extends Error {
  override readonly name = "BadForms";
}

const form = z.string().max(8_192);
const fileForm = z.strictObject({
  text: form.nullable(),
  memo: form.nullable(),
  refused: z
    .strictObject({
      kind: z.enum(["text", "memo"]),
      form: form.nullable(),
      reason: z.string().max(1_024),
      address: z.string().max(44),
    })
    .nullable(),
});

/** @param folder made when it is needed */
export function formFile(folder: string): FormStore & { readonly path: string } {
  const file = path.join(folder, name);
  return {
    path: file,
    async load() {
      const text = await textOf(file);
      return text === null ? noForms : parsed(file, text);
    },
    async save(forms: KnownForms) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      // Whole or not at all, for whoever reads it at the same time.
      const draft = `${file}.${randomBytes(6).toString("hex")}`;
      try {
        const handle = await open(draft, "wx", 0o600);
        try {
          await handle.writeFile(`${JSON.stringify(forms, null, 2)}\n`);
          await handle.sync();
          // Root accepts for the signer's user, who has to read it again.
          if (isRoot()) {
            const { uid, gid } = await stat(folder);
            await handle.chown(uid, gid);
          }
        } finally {
          await handle.close();
        }
        await rename(draft, file);
      } catch (error) {
        await rm(draft, { force: true });
        throw error;
      }
    },
  };
}

/** Null where there is no such file. @throws {BadForms} when others can change it */
async function textOf(file: string): Promise<string | null> {
  const ownerUid = statSync(file, { throwIfNoEntry: false })?.uid;
  // Root accepts for the signer's user.
  const wrong = distrusted(file, isRoot() && ownerUid !== undefined ? { owner: ownerUid } : {});
  if (wrong !== null) throw new BadForms(`${file} ${wrong}`);
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

/** Nothing of the file is quoted: it may be any. */
function parsed(file: string, text: string): KnownForms {
  const broken = () =>
    new BadForms(`${file} is no record of trusted forms; remove it to trust the next plain login`);
  if (text.length > mostBytes) throw broken();
  try {
    return fileForm.parse(JSON.parse(text));
  } catch {
    throw broken();
  }
}
