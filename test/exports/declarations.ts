/**
 * The second half of `npm run build`: of the declarations that tsc wrote into dist/, keeps those that the entries of package.json's
 * `exports` lead to, and names the files in their imports as they are there (tsc does so in .js files alone).
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

const root = path.join(import.meta.dirname, "..", "..");
const dist = path.join(root, "dist");
const ending = ".d.ts";
/** A relative import of a source file, in all the forms that declarations have. */
const sourceImport = /((?:\bfrom|\bimport|\bimport\()\s*["'])(\.[^"']*)\.ts(?=["'])/g;

const { exports } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as {
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
};
const entries = Object.values(exports).flatMap((entry) =>
  typeof entry === "string" ? [] : [path.join(root, entry.types)],
);

const kept = new Set(entries);
for (const file of kept) {
  const text = readFileSync(file, "utf8");
  for (const [, , name] of text.matchAll(sourceImport))
    kept.add(path.join(path.dirname(file), `${name}${ending}`));
  writeFileSync(file, text.replace(sourceImport, "$1$2.js"));
}
for (const name of readdirSync(dist, { recursive: true, encoding: "utf8" })) {
  const file = path.join(dist, name);
  if (name.endsWith(ending) && !kept.has(file)) rmSync(file);
}
