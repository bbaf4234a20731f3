import fc from "fast-check";
import { expect, test } from "vitest";
import { withoutSecrets } from "../../src/channels/message/text.ts";
import { hideSecrets, secretsOfAddress } from "../../src/domain/text/hidden-secrets.ts";

const password = "hunter2-Straße/+?=x";
const base64 = (text: string) => Buffer.from(text).toString("base64");

test.each([
  ["as it is", password],
  ["base64", base64(password)],
  ["the blob of AUTH PLAIN", base64(`\0watch\0${password}`)],
  ["the blob of AUTH PLAIN, without padding", base64(`\0me\0${password}`).replace(/=+$/, "")],
  ["base64url", Buffer.from(`watch:${password}`).toString("base64url")],
  ["Basic", `Basic ${base64(`watch:${password}`)}`],
  ["hexadecimal digits", Buffer.from(password).toString("hex").toUpperCase()],
  ["percent encoding", encodeURIComponent(password)],
  ["percent encoding of everything", Buffer.from(password).toString("hex").replaceAll(/../g, "%$&")],
  ["JSON", JSON.stringify({ password: `a"${password}` })],
  ["percent encoding, twice", encodeURIComponent(encodeURIComponent(password))],
  [
    "hexadecimal digits with colons",
    Buffer.from(password)
      .toString("hex")
      .replace(/..(?=.)/g, "$&:"),
  ],
  ["hexadecimal digits within a word", `x:${Buffer.from(password).toString("hex")}`],
  [
    "JSON escapes",
    [...password].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""),
  ],
  ["a piece of it", password.slice(2, 14)],
  ["blobs side by side", `${base64("a")}${base64(password)}`],
  ["base64 after another word", `x=${base64(`\0watch\0${password}`)}`],
])("a secret is not shown: %s", (_, form) => {
  const said = withoutSecrets(`535 5.7.8 bad credentials: ${form} (try again)`, [password, `a"${password}`]);
  expect(said).toMatch(/^535 5\.7\.8 bad credentials: .*….* \(try again\)$/);
  for (const word of said.split(" "))
    for (const start of [0, 1, 2, 3]) {
      expect(Buffer.from(word.slice(start), "base64").toString()).not.toContain(password);
      expect(Buffer.from(word.slice(start), "hex").toString()).not.toContain(password);
    }
});

test("in any blob of AUTH PLAIN, in whatever text", () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 4, maxLength: 40, unit: "binary" }).filter((one) => one.trim() === one),
      fc.string({ maxLength: 12 }),
      fc.stringMatching(/^[ a-z:;,]{0,20}$/),
      (secret, user, before) => {
        const blob = base64(`\0${user}\0${secret}`);
        expect(withoutSecrets(`${before} ${blob}`, [secret])).not.toContain(blob.slice(-8));
      },
    ),
  );
});

test("text without a secret stays", () => {
  const text =
    "550 5.7.1 <me@example.net>: Recipient address rejected: see https://example.org/why?id=a1b2c3d4e5f6";
  expect(withoutSecrets(text, [password, "abc", ""])).toBe(text);
});

test("consecutive words that contain a short secret by chance are not hidden", () => {
  expect(withoutSecrets("the ape nodded, so be it", ["peno", "sobe"])).toBe("the ape nodded, so be it");
});

test("a long text is searched in bounded time, and shortened", () => {
  expect(withoutSecrets("a".repeat(1_000_000), [password])).toHaveLength(300);
  expect(hideSecrets("\\".repeat(1_000_000), [password])).toHaveLength(1_000_000);
  expect(hideSecrets("abcd ".repeat(200_000), [password.repeat(40)])).toHaveLength(1_000_000);
});

test("a blob that is broken into lines hides the whole text", () => {
  const lines = base64(`\0watch\0${password}`).replace(/.{12}/g, "$&\r\n ");
  expect(withoutSecrets(`535 no: ${lines}`, [password])).toBe("…");
});

test("a secret at the end of the searched text is not kept in part", () => {
  for (let before = 4_050; before < 4_100; before++) {
    const said = withoutSecrets(
      `${base64(password).repeat(90)} ${"x ".repeat(600)}`.slice(0, before) + password,
      [password],
    );
    expect(said).not.toContain(password.slice(0, 4));
  }
});

test("opaque words of an address are its password, plain words are not", () => {
  const found = secretsOfAddress("https://host.example/api/webhooks/12345678/AbCdEf-01?key=s3cret%2Bkey&v=2");
  expect(found).toEqual(expect.arrayContaining(["12345678", "AbCdEf-01", "s3cret+key"]));
  expect(found).not.toContain("webhooks");
  const said = "404: no webhooks are here, /api/webhooks is none; 12345678 AbCdEf";
  expect(withoutSecrets(said, found)).toBe("404: no webhooks are here, /api/webhooks is none; … AbCdEf");
  expect(withoutSecrets("no /a/b here", secretsOfAddress("https://host.example/a/b"))).toBe("no … here");
  expect(secretsOfAddress("no address")).toEqual([]);
});
