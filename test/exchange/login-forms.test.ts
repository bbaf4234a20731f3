/** Trust in the form of login texts: the first plain one, one that a person accepted, and nothing else. */
import { describe, expect, test } from "vitest";
import { LoginForms } from "../../src/exchange/login-forms.ts";
import { BadChallenge } from "../../src/wallet/transaction.ts";
import { exampleAddress as address } from "../wallet/example.ts";
import { testKey } from "./local-exchange.ts";
import { MemorySessions, main, rig } from "./rig.ts";

const nowMs = Date.parse("2026-03-01T12:00:00Z");
const plain = (nonce = "a1b2c3d4") =>
  `Sign in to the exchange\nwallet:${address}\nnonce:${nonce}\nexpires:2026-03-01T12:05:00Z`;

function forms(
  domain: string | null = null,
  baseUrl = "https://perp-api.phoenix.trade",
  store = new MemorySessions(),
) {
  const pinned: (string | null)[] = [];
  const made = new LoginForms({ store, baseUrl, domain, onPinned: (_form, by) => void pinned.push(by) });
  const check = (text: string, nonceId = "nonce-0001") => made.check({ text, nonceId, address, nowMs });
  return { made, check, pinned, store };
}

const nonce = "\nNonce: a1b2c3d4";
const wants = "wants you to sign in with your Solana account:";

describe("the first text", () => {
  test.each([
    ["names no site", plain()],
    ["names the exchange", `perp-api.phoenix.trade ${wants}\n${address}${nonce}`],
    [
      "names a site of the exchange",
      `app.phoenix.trade ${wants}\n${address}\n\nThis request will not trigger a blockchain transaction or cost any gas fees.\n\nURI: https://app.phoenix.trade/login\nVersion: 1\nChain ID: 101${nonce}\nIssued At: 2026-03-01T12:00:00.000Z`,
    ],
    ["says hello", `Welcome to Phoenix!\nPlease sign this message to log in.\n${address}${nonce}`],
  ])("is trusted where it is a plain login: %s", async (_, text) => {
    const { made, check, pinned } = forms();
    await check(text);
    await check(text.replace("a1b2c3d4", "99999999"));
    expect(pinned).toEqual([null]);
    expect(made.trouble).toBe("");
  });

  test.each<[string, string, RegExp]>([
    ["another site's", `evil.example ${wants}\n${address}${nonce}`, /\("evil\[\.\]example"\)/],
    [
      "one that begins like it",
      `phoenix.trade.evil.example ${wants}\n${address}${nonce}`,
      /evil\[\.\]example/,
    ],
    ["one that ends like it", `evil-phoenix.trade ${wants}\n${address}${nonce}`, /evil-phoenix/],
    ["one behind a user name", `phoenix.trade@evil.com ${wants}\n${address}${nonce}`, /@evil/],
    [
      "one in other letters",
      `éphoenix.trade ${wants}\n${address}${nonce}`,
      /characters that no plain login needs/,
    ],
    [
      "one in wide letters",
      `phoenix.trade ${wants}\n${address}${nonce}\nURI: ｅｖｉｌ．ｃｏｍ`,
      /characters/,
    ],
    ["words in other letters", `wаnts you: ${address}${nonce}`, /characters/],
    [
      "a path that says something",
      `phoenix.trade ${wants}\n${address}${nonce}\nURI: https://app.phoenix.trade/login/transfer-all`,
      /"transfer"/,
    ],
    ["another site's URI", `${plain()}\nURI: https://app.evil.example/login`, /evil\[\.\]example/],
    ["a second site", `phoenix.trade ${wants}\n${address}${nonce}\nURI: https://my_app.evil.com`, /my_app/],
    ["an address of a machine", `${plain()}\nURI: http://10.0.0.7/`, /10\[\.\]0/],
    ["a number for a machine", `${plain()}\nURI: http://0xc0a80001/`, /0xc0a80001/],
    ["IPv6", `${plain()}\nURI: http://[fe80::1]:8080/`, /fe80/],
    ["a site without dots", `${plain()}\nURI: https://intranet/`, /intranet/],
    ["a site without a name", `${wants}\n${address}${nonce}`, /for which site/],
    ["a site of another kind", `MagicMarket ${wants}\n${address}${nonce}`, /"MagicMarket"/],
    ["a site of two words", `Magic Eden: sign in to prove that you own ${address}${nonce}`, /"Magic"/],
    ["a transfer", `Transfer all SOL of ${address}${nonce}`, /"Transfer"/],
    ["a transfer, hidden", `do_transfer ${address}${nonce}`, /"do_transfer"/],
    ["a withdrawal", `I withdraw everything: ${address} nonce:a1b2c3d4`, /"withdraw"/],
    ["an API key", `Sign in: api_key for ${address}${nonce}`, /"api_key"/],
    ["a session key", `Grant a session key for trading: ${address}${nonce}`, /"Grant"/],
    ["an order", `Buy 100 SOL-PERP at market ${address}${nonce}`, /"Buy"/],
    ["a link to an account", `Link this wallet to user mallory ${address}${nonce}`, /"Link"/],
    [
      "another chain's address",
      `Sign in for 0x52908400098527886E0F7030069857D2E4169EE7 ${address}${nonce}`,
      /0x529/,
    ],
    ["a year", `${plain()}\nexpires 31 3026`, /"3026"/],
    ["a day without dashes", `${plain()}\nexpires 20991231`, /"20991231"/],
    ["seconds with a fraction", `${plain()}\nexpires 4102444800.0`, /4102444800/],
  ])("is refused, and said: %s", async (_, text, reason) => {
    const { made, check, pinned, store } = forms();
    await expect(check(text)).rejects.toThrow(BadChallenge);
    await expect(check(text)).rejects.toThrow(reason);
    await expect(check(text)).rejects.toThrow(/perpwatch wallet trust/);
    expect([pinned, [...store.rows]]).toEqual([[], []]);
    expect(made.trouble).toMatch(reason);
    // One that may be signed is still pinned after it.
    await check(plain());
    expect(made.trouble).toBe("");
  });

  test("has to name the domain where one is configured", async () => {
    const { check } = forms("login.example.org");
    await expect(check(plain())).rejects.toThrow(
      /does not name login\.example\.org \(exchange\.loginDomain\)/,
    );
    await expect(check(`login.example.orgé ${wants}\n${address}${nonce}`)).rejects.toThrow(/characters/);
    await expect(check(`x.login.example.org ${wants}\n${address}${nonce}`)).rejects.toThrow(/does not name/);
    await check(`login.example.org ${wants}\n${address}${nonce}`);
  });

  test("is one, however many come at once", async () => {
    const { check, pinned, store } = forms();
    const texts = [plain(), `Sign in\n${address}${nonce}`, `Please sign in\n${address}${nonce}`];
    const ended = await Promise.allSettled(texts.map((text) => check(text)));
    expect(ended.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
    expect([pinned.length, store.rows.size]).toEqual([1, 1]);
  });
});

test.each<[string, string, string]>([
  ["a word", "I-approve-the-transfer-1", "letters"],
  ["an address", "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin", "letters"],
  ["a day", "9999-12-31", "letters"],
  ["letters where hex was trusted", "a1b2c3dz", "another form"],
])("a nonce that says something is not signed under a trusted form: %s", async (_, value) => {
  const { check } = forms();
  await check(plain());
  await expect(check(plain(value))).rejects.toThrow(/no nonce|another form/);
});

test("a text that no person can accept is told as well, and accepted by nobody", async () => {
  const { made, check } = forms();
  await check(plain());
  await expect(check(`${plain()}\nuntil 9999-12-31`)).rejects.toThrow(/a day without its time/);
  expect(made.trouble).toMatch(/a day without its time/);
  expect((await made.status()).refused).toEqual({
    form: null,
    reason: "the text to be signed names a day without its time",
  });
  expect(await made.trust("", "me")).toBe(false);
  await check(plain());
  expect(made.trouble).toBe("");
});

test("a good login of another wallet does not hide a refusal", async () => {
  const { made, check } = forms();
  await check(plain());
  await expect(check(`${plain()}\nmore`)).rejects.toThrow(/another form/);
  const other = testKey("hedge").address;
  await made.check({ text: plain().replace(address, other), nonceId: "", address: other, nowMs });
  expect(made.trouble).toMatch(/another form/);
  await check(plain());
  expect(made.trouble).toBe("");
});

test("the memo of a login transaction has a form of its own, trusted in the same way", async () => {
  const { made, pinned } = forms();
  const memo = (text: string, nonceId = "0f0e0d0c") => made.check({ text, nonceId, address, nowMs }, "memo");
  await expect(memo("Sign in to magiceden.io 0f0e0d0c")).rejects.toThrow(
    /memo of the login transaction is more/,
  );
  await expect(memo("I authorize everything e", "e")).rejects.toThrow(/no nonce/);
  await memo("exchange sign-in:0f0e0d0c");
  await memo("exchange sign-in:0a0b0c0d", "0a0b0c0d");
  await expect(memo("wallet sign-in:0f0e0d0c")).rejects.toThrow(
    /memo of the login transaction has another form/,
  );
  expect(pinned).toEqual([null]);
  const { refused } = await made.status();
  expect(await made.trust(refused!.form!, "me")).toBe(true);
  await memo("wallet sign-in:0f0e0d0c");
});

test("every other form is refused from then on, also by another process, until a person accepts it", async () => {
  const { made, check, store } = forms();
  await check(plain());
  const other = `${plain()}\nnetwork:main`;
  await expect(check(other)).rejects.toThrow(/another form than the one that was trusted/);
  const status = await made.status();
  expect(status.pinned).toBe("Sign in to the exchange\nwallet:{address}\nnonce:{nonce hex}\nexpires:{time}");
  expect(status.refused!.form).toBe(`${status.pinned}\nnetwork:main`);
  const next = forms(null, undefined, store);
  await expect(next.check(other)).rejects.toThrow(/another form/);
  expect(await next.made.trust(`${status.refused!.form} `, "me")).toBe(false);
  await expect(next.check(other)).rejects.toThrow(/another form/);
  expect(await next.made.trust(status.refused!.form!, "me")).toBe(true);
  expect(next.pinned).toEqual(["me"]);
  await next.check(other);
  expect((await next.made.status()).refused).toBeNull();
  await expect(next.check(plain())).rejects.toThrow(/another form/);
});

test("a store that fails keeps nobody out, and gets the form when it is back", async () => {
  const { check, store } = forms();
  store.failing = true;
  await check(plain());
  await expect(check(`${plain()}\nmore`)).rejects.toThrow(/another form/);
  expect(store.rows.size).toBe(0);
  store.failing = false;
  await check(plain());
  expect(store.rows.size).toBe(1);
});

test("a changed text signs no wallet in; once accepted, all of them sign in", async () => {
  const wallets = [main, { ...main, name: "hedge", key: testKey("hedge") }];
  await using set = await rig({ wallets });
  await set.clock.finish(set.exchange.start());
  await set.clock.advance(1_000);
  expect(set.exchange.sessions.all.map(({ signedIn }) => signedIn)).toEqual([true, true]);
  for (const session of set.exchange.sessions.all) await set.clock.finish(session.logout());
  set.venue.loginWords = "Sign in to the exchange please";
  const login = (name: string) =>
    set.exchange.sessions.of(name)!.login({ endMs: set.clock.elapsedMs() + 20_000 });
  for (const { name } of wallets)
    await expect(set.clock.finish(login(name))).rejects.toThrow(/another form than the one that was trusted/);
  expect(set.venue.seen.filter(({ path }) => path === "/v1/auth/login/wallet")).toHaveLength(2);
  // Tried again and again, and never signed.
  const [first, second, ...later] = set.signatures.map(
    ({ act, refused }) => `${act}: ${refused ?? "signed"}`,
  );
  expect([first, second]).toEqual(["login text: signed", "login text: signed"]);
  expect(new Set(later)).toEqual(
    new Set([
      "login text: the login text has another form than the one that was trusted; see: perpwatch wallet trust",
    ]),
  );
  // The alert about the text says it; that somebody else uses the key is another matter.
  expect(set.exchange.sessions.figures.authFailures).toBe(0);
  const { refused } = await set.exchange.loginForms.status();
  expect(await set.exchange.loginForms.trust(refused!.form!, "me")).toBe(true);
  for (const { name } of wallets) await set.clock.finish(login(name));
  expect(set.exchange.sessions.all.map(({ signedIn }) => signedIn)).toEqual([true, true]);
});
