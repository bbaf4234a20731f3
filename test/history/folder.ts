import fs from "node:fs";
import os from "node:os";
import path from "node:path";

/** A folder of its own for one test, removed with `using`. */
export function temporaryFolder(): Disposable & { readonly path: string; file(name?: string): string } {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "perpwatch-history-"));
  return {
    path: folder,
    file: (name = "perpwatch.db") => path.join(folder, name),
    [Symbol.dispose]: () => fs.rmSync(folder, { recursive: true, force: true }),
  };
}
