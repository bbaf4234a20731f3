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

describe("the first text", () => {
  test.each([
    ["names no site", plain()],
    ["names the exchange", `perp-api.phoenix.trade wants you to sign in:\n${address}\nnonce: a1b2c3d4`],
    [
      "names a site of the exchange",
      `app.phoenix.trade wants you to sign in:\n${address}\nURI: https://app.phoenix.trade\nnonce: a1b2c3d4`,
    ],
  ])("is trusted where it is a plain login: %s", async (_, text) => {
    const { made, check, pinned } = forms();
    await check(text);
    await check(text.replace("a1b2c3d4", "99999999"));
    expect(pinned).toEqual([null]);
    expect(made.trouble).toBe("");
  });

  test.each<[string, string, RegExp]>([
    [
      "another site's",
      `evil.example wants you to sign in with your account:\n${address}\nNonce: a1b2c3d4`,
      /names evil\.example/,
    ],
    [
      "one that only looks like it",
      `phoenix.trade.evil.example wants you to sign in:\n${address}\nNonce: a1b2c3d4`,
      /names phoenix\.trade\.evil/,
    ],
    ["another site's URI", `${plain()}\nURI: https://app.evil.example/login`, /names app\.evil\.example/],
    ["an address of a machine", `${plain()}\nURI: http://10.0.0.7/`, /names 10\.0\.0\.7/],
    [
      "a site without a name",
      `MagicMarket wants you to sign in with your account:\n${address}\nNonce: a1b2c3d4`,
      /for which site/,
    ],
    ["a transfer", `Transfer all SOL of ${address}\nnonce:a1b2c3d4`, /"transfer…"/],
    ["a withdrawal", `I withdraw everything: ${address} nonce:a1b2c3d4`, /"withdraw…"/],
    ["an API key", `Create an API key for ${address}\nscope: all\nnonce:a1b2c3d4`, /"api key…"/],
    ["a delegation", `Delegate trading of ${address}, nonce a1b2c3d4`, /"delegat…"/],
    ["an approval", `I approve the spender. ${address} nonce:a1b2c3d4`, /"approv…"/],
    ["an order", `${plain()}\norder:sell everything`, /"order…"/],
    ["a year", `${plain()}\nvalid until 31 December 9999`, /names a year/],
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
    await check(`login.example.org wants you to sign in:\n${address}\nnonce: a1b2c3d4`);
  });
});

test("every other form is refused from then on, also by another process, until a person accepts it", async () => {
  const { made, check, store } = forms();
  await check(plain());
  const other = `${plain()}\nnetwork:main`;
  await expect(check(other)).rejects.toThrow(/another form than the one that was trusted/);
  const status = await made.status();
  expect(status.pinned).toBe("Sign in to the exchange\nwallet:{address}\nnonce:{nonce}\nexpires:{time}");
  expect(status.refused!.form).toBe(`${status.pinned}\nnetwork:main`);
  const next = forms(null, undefined, store);
  await expect(next.check(other)).rejects.toThrow(/another form/);
  expect(await next.made.trust(`${status.refused!.form} `, "me")).toBe(false);
  await expect(next.check(other)).rejects.toThrow(/another form/);
  expect(await next.made.trust(status.refused!.form, "me")).toBe(true);
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
  set.venue.loginWords = "Sign in to the new exchange";
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
  const { refused } = await set.exchange.loginForms.status();
  expect(await set.exchange.loginForms.trust(refused!.form, "me")).toBe(true);
  for (const { name } of wallets) await set.clock.finish(login(name));
  expect(set.exchange.sessions.all.map(({ signedIn }) => signedIn)).toEqual([true, true]);
});
