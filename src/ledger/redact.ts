/**
 * Removes a node's address from what it says: providers put their keys into a path, a query or a host's name, and some
 * repeat them in what they refuse.
 */

import { hideSecretsAtBeginning, secretsOfAddress } from "../domain/hidden-secrets.ts";

/** Shorter words of an address (`v2`, `rpc`, `mainnet`) are no keys, and stand in ordinary sentences. */
const shortestKey = 8;
/** Longer texts are cut before they are searched. */
const maxSearched = 4_096;
/** A part of a host's name that is shorter is a name. */
const shortestLabel = 16;

/** @returns takes the address and each of its parts that could be a key out of a text, however they are encoded */
export function redactorFor(rpcUrl: string): (text: string) => string {
  const { href, origin, host, hostname, pathname, search, hash, searchParams } = new URL(rpcUrl);
  const parts = [
    ...pathname.split("/"),
    ...search.slice(1).split(/[&=]/),
    ...[...searchParams].flat(),
    ...[pathname + search, search, hash.slice(1)],
  ].filter((part) => part.length >= shortestKey);
  const labels = hostname.split(".").filter((label) => label.length >= shortestLabel);
  const whole = [rpcUrl, href, href.slice(origin.length - host.length)];
  const spellings = new Set([...whole, ...parts, ...labels].flatMap((part) => [part, ...decoded(part)]));
  // What is longest first, so that no rest of it stays.
  const sought = [...spellings]
    .filter((part) => part.length >= shortestKey)
    .sort((a, b) => b.length - a.length)
    .map((part) => part.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  const pattern = new RegExp(sought.join("|"), "giu");
  // Other encodings, and parts.
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
