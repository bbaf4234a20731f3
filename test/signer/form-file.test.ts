/** The file of trusted forms: changed by several processes. */
import { execFile } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { formFile } from "../../src/signer/form-file.ts";
import { accepted, LoginForms } from "../../src/signer/login-forms.ts";
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
