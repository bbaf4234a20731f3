/** The file of trusted forms: changed by several processes, read by other versions. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { BadForms, formFile, formsFromText } from "../../src/signer/form-file.ts";
import { accepted, LoginForms, noForms } from "../../src/signer/login-forms.ts";
import { desk } from "../cli/run.ts";
import { exampleAddress as address } from "../wallet/example.ts";

const source = pathToFileURL(path.resolve(import.meta.dirname, "../../src/signer/form-file.ts")).href;

test("changes of several processes at once are all kept", { timeout: 60_000 }, async () => {
  using place = desk();
  const folders = { state: place.folder, formerState: place.folder };
  const each = 50;
  const code = `
    import { formFile } from ${JSON.stringify(source)};
    const file = formFile(${JSON.stringify(folders)});
    for (let n = 0; n < ${each}; n++)
      await file.change((now) => ({ ...now, text: String(Number(now.text ?? 0) + 1) }));`;
  const child = () => promisify(execFile)(process.execPath, ["--input-type=module", "-e", code]);
  await Promise.all([child(), child()]);
  expect((await formFile(folders).load()).text).toBe(String(2 * each));
  expect(readdirSync(place.folder)).toEqual(["login-forms.json"]);
});

test.each<[string, object]>([
  ["states more than this version knows", { ...noForms, until: "2030-01-01" }],
  ["states more of a refused form", { ...noForms, refused: [{ kind: "text", form: "f", seen: 3 }] }],
  ["names its version", { version: 2, forms: [] }],
])("a record of another version, which %s, is refused with what to do, and stays", async (_what, record) => {
  using place = desk();
  const text = JSON.stringify(record);
  expect(() => formsFromText("login-forms.json", text)).toThrow(BadForms);
  expect(() => formsFromText("login-forms.json", text)).toThrow(
    /is of another version of perpwatch.*start that version again/,
  );
  place.write("login-forms.json", text);
  const store = formFile({ state: place.folder, formerState: place.folder });
  const forms = new LoginForms({ store, baseUrl: "https://perp-api.phoenix.trade", domain: null });
  const asked = { text: `Sign in\n${address}\nnonce: a1b2c3d4`, nonceId: "", address, nowMs: 0 };
  await expect(forms.check(asked)).rejects.toThrow(/cannot be read: .*another version/);
  await expect(store.change(() => noForms)).rejects.toThrow(BadForms);
  expect(readFileSync(path.join(place.folder, "login-forms.json"), "utf8")).toBe(text);
});

test("a signer that knows the forms goes on by them beside a record of another version, and leaves it as it is", async () => {
  using place = desk();
  const store = formFile({ state: place.folder, formerState: place.folder });
  const forms = new LoginForms({ store, baseUrl: "https://perp-api.phoenix.trade", domain: null });
  const check = (words: string) =>
    forms.check({ text: `${words}\n${address}\nnonce: a1b2c3d4`, nonceId: "", address, nowMs: 0 });
  await check("Sign in");
  const newer = JSON.stringify({ ...noForms, until: "2030-01-01" });
  place.write("login-forms.json", newer);
  await expect(check("Log in")).rejects.toThrow(/another form/);
  await check("Sign in");
  expect(readFileSync(path.join(place.folder, "login-forms.json"), "utf8")).toBe(newer);
});

test("texts without end push out no form that is trusted, and the file stays small and readable", async () => {
  using place = desk();
  const folders = { state: place.folder, formerState: place.folder };
  const made = () =>
    new LoginForms({ store: formFile(folders), baseUrl: "https://perp-api.phoenix.trade", domain: null });
  const forms = made();
  const check = (text: string, kind: "text" | "memo" = "text", nonceId = "") =>
    forms.check({ text, nonceId, address, nowMs: 0 }, kind);
  const login = (words: string) => `${words}\n${address}\nnonce: a1b2c3d4`;
  await check(login("Sign in"));
  await check("sign-in:0f0e0d0c", "memo", "0f0e0d0c");
  await expect(check(login("Log in"))).rejects.toThrow(/another form/);
  await formFile(folders).change((now) => accepted(now, "text")!);
  const trusted = await formFile(folders).load();
  const nonces = "a1b2c3dz".repeat(110);
  const texts = [
    ...Array.from({ length: 150 }, (_, n) => login(`Sign in ${n}`)),
    "\u0000".repeat(1_000_000),
    `${"x".repeat(2_047)}\u{1f600}`,
    "\ud800".repeat(5_000),
    `${"\u20ac".repeat(200)} ${login("")}`,
    `${address}\nnonce: a1b2c3dz${nonces}`,
    `nonce: a1b2c3dz ${nonces}`,
    `${".".repeat(800)}${login("")}`,
  ];
  for (const text of texts)
    for (const kind of ["text", "memo"] as const) await check(text, kind).catch(() => {});
  const known = await formFile(folders).load();
  expect({ ...known, refused: [] }).toEqual(trusted);
  expect(known.refused.map(({ kind }) => kind)).toEqual(["text", "memo"]);
  expect(statSync(formFile(folders).path).size).toBeLessThan(65_536 / 2);
  // As after a restart.
  await made().check({ text: login("Log in"), nonceId: "", address, nowMs: 0 });
});
