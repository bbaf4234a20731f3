/**
 * Removes a node's address from its texts: providers put keys into the path, the query or the host name, and some
 * repeat them in error messages.
 */

import { hideSecretsAtBeginning, secretsOfAddress } from "../domain/text/hidden-secrets.ts";

/** Shorter parts of an address (`v2`, `rpc`, `mainnet`) are ordinary words, not keys. */
const minKeyLength = 8;
/** Longer texts are cut before they are searched. */
const maxSearched = 4_096;
/** Shorter labels of a host name are ordinary names, not keys. */
const minLabelLength = 16;

/**
 * @returns a function that removes the address, and each of its parts that could be a key, from a text in any encoding
 */
export function redactorFor(rpcUrl: string): (text: string) => string {
  const { href, origin, host, hostname, pathname, search, hash, searchParams } = new URL(rpcUrl);
  const parts = [
    ...pathname.split("/"),
    ...search.slice(1).split(/[&=]/),
    ...[...searchParams].flat(),
    ...[pathname + search, search, hash.slice(1)],
  ].filter((part) => part.length >= minKeyLength);
  const labels = hostname.split(".").filter((label) => label.length >= minLabelLength);
  const whole = [rpcUrl, href, href.slice(origin.length - host.length)];
  const spellings = new Set([...whole, ...parts, ...labels].flatMap((part) => [part, ...decoded(part)]));
  // Longest first, so that no rest of a longer match remains.
  const sought = [...spellings]
    .filter((part) => part.length >= minKeyLength)
    .sort((a, b) => b.length - a.length)
    .map((part) => part.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  const pattern = new RegExp(sought.join("|"), "giu");
  // Other encodings, and partial matches.
  const keys = [...secretsOfAddress(rpcUrl), ...labels];
  return (text) =>
    hideSecretsAtBeginning(text, keys, maxSearched, (beginning) =>
      beginning.replace(pattern, "[ledger.rpcUrl]"),
    );
}

function decoded(part: string): readonly string[] {
  try {
    const plain = decodeURIComponent(part);
    return [plain, encodeURIComponent(plain), JSON.stringify(plain).slice(1, -1)];
  } catch {
    return [];
  }
}
