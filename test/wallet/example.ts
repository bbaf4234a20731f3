/** The public example wallet (never to be funded), and the example records. */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { base58 } from "@scure/base";
import { WalletKey } from "../../src/wallet/wallet-key.ts";

export const exampleSeed = new Uint8Array(createHash("sha256").update("perpwatch example: wallet").digest());
export const exampleKey = WalletKey.fromSeed(exampleSeed);
export const exampleAddress = "GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD";
export const examplePair: readonly number[] = [...exampleSeed, ...base58.decode(exampleAddress)];

export function exampleRecord(name: string): Record<string, string> {
  return JSON.parse(readFileSync(new URL(`./examples/${name}.json`, import.meta.url), "utf8")) as Record<
    string,
    string
  >;
}

/** Every form in which the example secret could leak into a text. */
export function leaks(text: string): string[] {
  const forms = {
    hex: Buffer.from(exampleSeed).toString("hex"),
    base64: Buffer.from(exampleSeed).toString("base64").slice(0, 40),
    "base58 seed": base58.encode(exampleSeed),
    "base58 pair": base58.encode(Uint8Array.from(examplePair)),
    numbers: exampleSeed.slice(0, 4).join(","),
    "spaced numbers": exampleSeed.slice(0, 4).join(", "),
    "hex dump": Buffer.from(exampleSeed.slice(0, 6))
      .toString("hex")
      .replace(/(..)(?=.)/g, "$1 "),
  };
  return Object.entries(forms)
    .filter(([, form]) => text.includes(form) || text.includes(form.slice(0, 12)))
    .map(([name]) => name);
}
