/** The first line in which two forms differ, as alerts and the signature log show it. */
import { expect, test } from "vitest";
import { firstDifference } from "../../src/signer/form-lines.ts";

const long = "to sign in to the exchange, confirm that you are the owner of this account, ".repeat(3);
const trusted = "Sign in\nwallet:{address}\nnonce:{nonce hex}";

test.each<[string, string, string, string]>([
  [
    "a changed line",
    trusted,
    trusted.replace("hex", "uuid"),
    'line 3 was "nonce:{nonce hex}" and is "nonce:{nonce uuid}"',
  ],
  ["the first of several", trusted, "Sign up\nx", 'line 1 was "Sign in" and is "Sign up"'],
  ["an added line", trusted, `${trusted}\nnetwork: main`, 'line 4 is added: "network: main"'],
  ["an added line that is empty", trusted, `${trusted}\n`, 'line 4 is added: ""'],
  [
    "a line within",
    trusted,
    trusted.replace("\n", "\nfor all\n"),
    'line 2 was "wallet:{address}" and is "for all"',
  ],
  ["a removed line", `${trusted}\nnetwork: main`, trusted, 'line 4 is missing, it was "network: main"'],
  [
    "control characters, letters that look like others, and the like",
    "a\u0007b\u001b[31m",
    "\u0430\u202eb\r\u{1f600}\u200d",
    'line 1 was "a\\u{7}b\\u{1b}[31m" and is "\\u{430}\\u{202e}b\\u{d}\\u{1f600}\\u{200d}"',
  ],
  ["spaces at the end", "Sign  in", "Sign  in  ", 'line 1 was "Sign  in" and is "Sign  in\\u{20}\\u{20}"'],
  ["no link", "of a.example", "of b.example", 'line 1 was "of a[.]example" and is "of b[.]example"'],
  [
    "a long line, from a little before the difference on",
    `${long}nonce:{nonce hex}`,
    `${long}nonce:{nonce uuid}`,
    'line 1 was "…of this account, nonce:{nonce hex}" and is "…of this account, nonce:{nonce uuid}"',
  ],
  ["a long line that is new", trusted, `${trusted}\n${long}`, `line 4 is added: "${long.slice(0, 80)}…"`],
])("%s", (_, before, now, difference) => {
  expect(firstDifference(before, now)).toBe(difference);
});

test("a line of escaped characters is cut like any other, between two of them", () => {
  const [, was, is] = /was "(.*)…" and is "(.*)…"$/.exec(
    firstDifference("\u{1f600}".repeat(200), "\u{1f601}".repeat(200)),
  )!;
  expect([was, is]).toEqual(["\\u{1f600}".repeat(8), "\\u{1f601}".repeat(8)]);
});
