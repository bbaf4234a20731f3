/**
 * Login texts that are trusted without a person: words of a login and nothing else. What is not known to be harmless is shown to a
 * person first, since nobody can list all that is not.
 */
import { PUBLIC_BASE_URL } from "../contract/program.ts";

const words: ReadonlySet<string> = new Set(
  (
    "a account address an and are as at auth by chain challenge confirm confirming exchange expiration expire expires for hello i id in " +
    "is issued it log logging login message network of on only own owner ownership perpetuals perps phoenix please prove proving " +
    "request sign signing site solana svm the this time to uri url v version wallet wants welcome with you your nonce"
  ).split(" "),
);
/** Sentences that are found in logins everywhere, and whose words alone would not do. */
const sentences = [
  "This request will not trigger a blockchain transaction or cost any gas fees.",
  "This will not trigger a blockchain transaction or cost any gas fees.",
  "This request will not trigger a blockchain transaction or cost any fees.",
];
const marks = /^[:.,;()!'-]$/;
/** Version numbers and the like; no years, no times. */
const maxDigits = 3;
const maxQuoted = 40;

/**
 * @param form of a text, with its places
 * @param own host of the exchange's API
 * @param domain the host that has to be named; null: none
 * @returns the reason why a person has to look at it, as the end of a sentence; null: it is a plain login of this exchange
 */
export function plainness(form: string, own: string, domain: string | null): string | null {
  if (/[^\x20-\x7e\n]/.test(form)) return "has characters that no plain login needs";
  let left = form.replaceAll(/\{[a-z ]+\}/g, " ");
  for (const sentence of sentences) left = left.replaceAll(sentence, " ");
  let isNamed = false;
  for (const host of hostsOf(own, domain)) {
    const named = new RegExp(
      `(?<![\\w.@:/%-])(?:https?://)?${host.replaceAll(/\W/g, "\\$&")}(?::\\d{1,5})?((?:/[\\w/-]*)?)(?![\\w.@:/%-])`,
      "gi",
    );
    left = left.replaceAll(named, (_all, path: string) => {
      isNamed ||= host === domain;
      // The words of a path have to be those of a login, too.
      return ` ${path.replaceAll(/[/_-]+/g, " ")} `;
    });
  }
  if (domain !== null && !isNamed) return `does not name ${domain} (exchange.loginDomain)`;
  const [other] = (left.match(/\S+/g) ?? []).filter((part) => !isPlain(part));
  if (other !== undefined) return `is more than a plain login of the exchange (${quoted(other)})`;
  return /wants you/i.test(form) && hostsOf(own, domain).every((host) => !form.toLowerCase().includes(host))
    ? "does not say for which site it is"
    : null;
}

function hostsOf(own: string, domain: string | null): readonly string[] {
  // The site of the exchange that is meant where nothing is configured.
  const site = own === new URL(PUBLIC_BASE_URL).hostname ? own.split(".").slice(-2).join(".") : null;
  const hosts = [domain, own, site, site && `app.${site}`, site && `www.${site}`];
  return hosts.filter((host) => host !== null).sort((a, b) => b.length - a.length);
}

function isPlain(part: string): boolean {
  // A dot or slash within a word makes another thing of it.
  if (/\w[^\w\s'-]+\w/.test(part) && !/^[\w-]+:[\w-]*$/.test(part)) return false;
  return (part.match(/[a-z]+|\d+|./gi) ?? []).every((token) =>
    /^\d/.test(token)
      ? token.length <= maxDigits
      : /^[a-z]/i.test(token)
        ? words.has(token.toLowerCase())
        : marks.test(token),
  );
}

/** No link in a chat. */
function quoted(part: string): string {
  const shown = part.length > maxQuoted ? `${part.slice(0, maxQuoted)}…` : part;
  return `"${shown.replaceAll(".", "[.]").replaceAll(/[^\x20-\x7e]/g, "?")}"`;
}
