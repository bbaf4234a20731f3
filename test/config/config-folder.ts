/** A folder with key files, secrets and rules for configurations under test. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { newKeypairFile } from "../../src/wallet/keypair-file.ts";
import { keystoreText, sealKeystore } from "../../src/wallet/keystore.ts";

export const authority = "GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD";

export const oneRule = `rules:
  - name: Far
    scope: market
    when: market.markPrice > 1
    severity: info
    summary: far
`;

/** The minimal other sections of a configuration, one line each, after the tested ones. */
export const rest = `
wallets: [{ name: watched, authority: ${authority} }]
channels: { here: { type: console } }
rules: own.yaml
`;

export interface ConfigFolder extends Disposable {
  readonly path: string;
  file(name: string): string;
  write(name: string, content: string | Uint8Array, mode?: number): string;
  /** @param fill one byte, repeated, is the seed @returns the wallet's address */
  key(name: string, fill: number): string;
  /** Writes a keystore with these addresses. */
  keystore(name: string, addresses: readonly string[]): string;
}

/** Removed with `using`. Contains `own.yaml` with one rule. */
export function configFolder(): ConfigFolder {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "perpwatch-config-"));
  const file = (name: string) => path.join(folder, name);
  const write = (name: string, content: string | Uint8Array, mode = 0o600) => {
    fs.mkdirSync(path.dirname(file(name)), { recursive: true });
    fs.writeFileSync(file(name), content);
    fs.chmodSync(file(name), mode);
    return file(name);
  };
  write("own.yaml", oneRule);
  return {
    path: folder,
    file,
    write,
    key(name, fill) {
      fs.mkdirSync(path.dirname(file(name)), { recursive: true });
      return newKeypairFile(file(name), new Uint8Array(32).fill(fill)).address;
    },
    keystore: (name, addresses) =>
      write(
        name,
        keystoreText({ ...sealKeystore([], "x", { N: 2, r: 1, p: 1 }), addresses: [...addresses] }),
      ),
    [Symbol.dispose]: () => fs.rmSync(folder, { recursive: true, force: true }),
  };
}
