/** Answers that something on the way from the exchange gives in its place, and answers that it changes. */
import { parseJson, writeJson } from "../../src/contract/json.ts";
import type { Random } from "../../src/domain/clock.ts";
import { type Garbling, garble } from "./garble.ts";
import type { Told, Venue } from "./line.ts";
import { parts, type Weather } from "./weather.ts";

interface Asked {
  readonly target: string;
  /** The body of the request. */
  readonly body: string;
}

/** @returns null where the exchange itself is asked */
export function refusalOnTheWay({ target, body }: Asked, venue: Venue, weather: Weather): Told | null {
  const answer = (status: number, error: string, more: Record<string, string> = {}): Told => {
    const date = new Date(venue.time.nowMs).toUTCString();
    return { status, headers: { date, ...more }, text: JSON.stringify({ error }), whole: true };
  };
  if (weather.now("limited")) return answer(429, "rate_limited", { "retry-after": "1" });
  const errors = weather.now("errors", ({ wallets }) => wallets.includes(venue.walletIn(target) ?? ""));
  if (errors) return answer(errors.status, "unavailable");
  const part = weather.now("partErrors", (fault) => parts[fault.part].test(target));
  if (part) return answer(part.status, "unavailable");
  if (!target.startsWith("/v1/auth/login/")) return null;
  const signer = venue.walletIn(body) ?? "";
  const refused = weather.now("signInsRefused", ({ wallets }) => wallets.includes(signer));
  return refused && answer(refused.status, "wallet_not_linked");
}

/** An answer as it reaches the daemon. */
export function changedOnTheWay(
  told: Told,
  { target }: Asked,
  { venue, weather, random }: { readonly venue: Venue; readonly weather: Weather; readonly random: Random },
): { readonly told: Told; readonly garbled: Garbling | null } {
  if (told.status !== 200) return { told, garbled: null };
  const wallet = venue.walletIn(target) ?? "";
  const off = parts.portfolio.test(target)
    ? weather.now("equityOff", ({ wallets }) => wallets.includes(wallet))
    : null;
  const text = off === null ? told.text : valuesOff(told.text, off.share);
  const bad = weather.hits("garbled", random) ? garble(text, random) : null;
  return { told: { ...told, text: bad?.text ?? text }, garbled: bad?.garbled ?? null };
}

function valuesOff(text: string, share: number): string {
  const points = parseJson(text) as readonly { readonly value: number }[];
  return writeJson(points.map((point) => ({ ...point, value: Number(point.value) * (1 + share) })));
}
