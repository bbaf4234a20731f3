/** Trust in the form of login texts: the first plain one, one that a person accepted, and nothing else. */
import { describe, expect, test } from "vitest";
import {
  accepted,
  FormRefused,
  type KnownForms,
  type LoginFormKind,
  LoginForms,
  noForms,
} from "../../src/signer/login-forms.ts";
import { BadChallenge } from "../../src/wallet/transaction.ts";
import { testKey } from "../exchange/local-exchange.ts";
import { exampleAddress as address } from "../wallet/example.ts";

const nowMs = Date.parse("2026-03-01T12:00:00Z");
const plain = (nonce = "a1b2c3d4") =>
  `Sign in to the exchange\nwallet:${address}\nnonce:${nonce}\nexpires:2026-03-01T12:05:00Z`;

/** A store in memory that fails on demand. */
class Store {
  known: KnownForms = noForms;
  failing = false;
  isReadOnly = false;
  /** Called between a reading of the store and the next change, for what another process does then. */
  meanwhile = () => {};
  async load() {
    if (this.failing) throw new Error("no disk");
    return this.known;
  }
  async change(by: (now: KnownForms) => KnownForms) {
    this.meanwhile();
    if (this.failing || this.isReadOnly) throw new Error("no disk");
    this.known = by(this.known);
  }
}

function forms(
  domain: string | null = null,
  baseUrl = "https://perp-api.phoenix.trade",
  store = new Store(),
) {
  const pinned: string[] = [];
  const made = new LoginForms({ store, baseUrl, domain, onPinned: (form) => void pinned.push(form) });
  const check = (text: string, nonceId = "nonce-0001") => made.check({ text, nonceId, address, nowMs });
  const trouble = () => store.known.refused.map(({ reason }) => reason).join(", ");
  return { made, check, pinned, store, trouble };
}

/** As `perpwatch wallet trust` does. */
function accept(store: Store, kind: LoginFormKind = "text"): void {
  const after = accepted(store.known, kind);
  expect(after).not.toBeNull();
  store.known = after!;
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
    const { check, pinned, trouble } = forms();
    await check(text);
    await check(text.replace("a1b2c3d4", "99999999"));
    expect(pinned).toHaveLength(1);
    expect(trouble()).toBe("");
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
    const { check, pinned, store, trouble } = forms();
    await expect(check(text)).rejects.toThrow(FormRefused);
    await expect(check(text)).rejects.toThrow(reason);
    expect([pinned, store.known.text]).toEqual([[], null]);
    expect(trouble()).toMatch(reason);
    // One that may be signed is still pinned after it.
    await check(plain());
    expect(trouble()).toBe("");
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
    expect(pinned).toEqual([store.known.text]);
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
  const { check, store, trouble } = forms();
  await check(plain());
  await expect(check(`${plain()}\nuntil 9999-12-31`)).rejects.toThrow(BadChallenge);
  expect(store.known.refused).toEqual([
    {
      kind: "text",
      form: null,
      reason: "the text to be signed names a day without its time",
      text: `${plain()}\nuntil 9999-12-31`,
      address,
    },
  ]);
  expect(accepted(store.known, "text")).toBeNull();
  await check(plain());
  expect(trouble()).toBe("");
});

test("a good login of another wallet does not hide a refusal", async () => {
  const { made, check, trouble } = forms();
  await check(plain());
  await expect(check(`${plain()}\nmore`)).rejects.toThrow(/another form/);
  const other = testKey("hedge").address;
  await made.check({ text: plain().replace(address, other), nonceId: "", address: other, nowMs });
  expect(trouble()).toMatch(/another form/);
  await check(plain());
  expect(trouble()).toBe("");
});

test("the memo of a login transaction has a form of its own, trusted in the same way", async () => {
  const { made, pinned, store } = forms();
  const memo = (text: string, nonceId = "0f0e0d0c") => made.check({ text, nonceId, address, nowMs }, "memo");
  await expect(memo("Sign in to magiceden.io 0f0e0d0c")).rejects.toThrow(
    /memo of the login transaction is more/,
  );
  await expect(memo("I authorize everything e", "e")).rejects.toThrow(/no nonce/);
  await memo("exchange sign-in:0f0e0d0c");
  await memo("exchange sign-in:0a0b0c0d", "0a0b0c0d");
  await expect(memo("wallet sign-in:0f0e0d0c")).rejects.toThrow(
    'the memo of the login transaction has another form than the one that was trusted: line 1 was "exchange sign-in:{nonce hex}" and is "wallet sign-in:{nonce hex}"',
  );
  expect([pinned.length, store.known.text]).toEqual([1, null]);
  accept(store, "memo");
  await memo("wallet sign-in:0f0e0d0c");
});

test("a refused memo hides no refused text, nor its acceptance", async () => {
  const { made, check, store } = forms();
  const other = testKey("hedge").address;
  const memo = (text: string) => made.check({ text, nonceId: "0f0e0d0c", address: other, nowMs }, "memo");
  await check(plain());
  await memo("exchange sign-in:0f0e0d0c");
  const [text, changed] = [`${plain()}\nnetwork:main`, "wallet sign-in:0f0e0d0c"];
  await expect(check(text)).rejects.toThrow(/another form/);
  await expect(memo(changed)).rejects.toThrow(/another form/);
  expect(store.known.refused.map(({ kind, address: of }) => [kind, of])).toEqual([
    ["text", address],
    ["memo", other],
  ]);
  accept(store, "memo");
  expect(store.known.refused.map(({ kind }) => kind)).toEqual(["text"]);
  await memo(changed);
  expect(store.known.refused.map(({ kind }) => kind)).toEqual(["text"]);
  accept(store, "text");
  await check(text);
  expect(store.known.refused).toEqual([]);
});

test("every other form is refused from then on, also by another process, until a person accepts it", async () => {
  const { check, store } = forms();
  await check(plain());
  const other = `${plain()}\nnetwork:main`;
  await expect(check(other)).rejects.toThrow(/another form than the one that was trusted/);
  expect(store.known.text).toBe(
    "Sign in to the exchange\nwallet:{address}\nnonce:{nonce hex}\nexpires:{time}",
  );
  expect(store.known.refused[0]!.form).toBe(`${store.known.text}\nnetwork:main`);
  const next = forms(null, undefined, store);
  await expect(next.check(other)).rejects.toThrow(/another form/);
  accept(store);
  await next.check(other);
  expect(store.known.refused).toEqual([]);
  await expect(next.check(plain())).rejects.toThrow(/another form/);
  // The first process has read it, too.
  await check(other);
});

test("a store that fails keeps nobody out who was known, and gets the form when it is back", async () => {
  const { check, store } = forms();
  await check(plain());
  store.known = noForms;
  store.failing = true;
  await check(plain());
  await expect(check(`${plain()}\nmore`)).rejects.toThrow(/another form/);
  expect(store.known.text).toBeNull();
  store.failing = false;
  await check(plain());
  expect(store.known.text).toMatch(/^Sign in/);
});

test("a store that cannot be read at the beginning makes no text the first one", async () => {
  const { check, store, pinned } = forms();
  store.failing = true;
  await expect(check(plain())).rejects.toThrow("the trusted forms of login cannot be read: no disk");
  expect(pinned).toEqual([]);
  store.failing = false;
  await check(plain());
  expect(pinned).toHaveLength(1);
});

test("a first form that cannot be recorded is trusted by nobody", async () => {
  const { check, store, pinned } = forms();
  store.isReadOnly = true;
  // The second one meets the record of a refusal that is not stored either.
  for (const text of [plain(), `${plain()}\npay:everything`, plain()])
    await expect(check(text)).rejects.toThrow(text === plain() ? "cannot be recorded: no disk" : /pay/);
  expect(pinned).toEqual([]);
  store.isReadOnly = false;
  await check(plain());
  expect([pinned.length, store.known.text]).toEqual([1, pinned[0]]);
});

describe("a person's acceptance is kept", () => {
  const other = `${plain()}\nnetwork:main`;
  const later = `${plain()}\nnetwork:later`;
  const otherForm =
    "Sign in to the exchange\nwallet:{address}\nnonce:{nonce hex}\nexpires:{time}\nnetwork:main";

  test.each<[string, string]>([
    ["another form", later],
    ["a text that no person can accept", `${plain()}\nuntil 9999-12-31`],
    ["the form that was trusted before", plain()],
  ])("where the signer judges %s meanwhile", async (_what, text) => {
    const { check, store } = forms();
    await check(plain());
    await expect(check(other)).rejects.toThrow(/another form/);
    store.meanwhile = () => {
      store.meanwhile = () => {};
      accept(store);
    };
    // It is judged by the record as it is then.
    await expect(check(text)).rejects.toThrow(/another form|a day without its time/);
    expect(store.known.text).toBe(otherForm);
    await check(other);
  });

  test("where the accepted form is what the signer is asked for meanwhile: it is signed", async () => {
    const { check, store } = forms();
    await check(plain());
    await expect(check(other)).rejects.toThrow(/another form/);
    await expect(check(later)).rejects.toThrow(/another form/);
    store.meanwhile = () => {
      store.meanwhile = () => {};
      store.known = { ...store.known, text: otherForm, refused: [] };
    };
    await check(other);
    expect(store.known).toEqual({ ...noForms, text: otherForm });
  });

  test("where the signer could not store a refusal before", async () => {
    const { check, store } = forms();
    await check(plain());
    await expect(check(other)).rejects.toThrow(/another form/);
    store.isReadOnly = true;
    await expect(check(later)).rejects.toThrow(/another form/);
    store.isReadOnly = false;
    accept(store);
    await check(other);
    expect(store.known).toEqual({ ...noForms, text: otherForm });
    await expect(check(later)).rejects.toThrow(/another form/);
    expect(store.known.text).toBe(otherForm);
  });
});

test("of two processes that see different first forms one pins its own", async () => {
  const { check, pinned, store } = forms();
  const first = `Sign in\n${address}${nonce}`;
  store.meanwhile = () => {
    store.meanwhile = () => {};
    store.known = { ...noForms, text: "Sign in\n{address}\nNonce: {nonce hex}" };
  };
  await expect(check(plain())).rejects.toThrow(/another form/);
  expect(pinned).toEqual([]);
  await check(first);
});

test("of texts that are refused for one reason the newest is kept", async () => {
  const { check, store } = forms();
  await check(plain());
  for (const words of ["until 9999-12-31", "transfer all until 9999-12-31"]) {
    await expect(check(`${plain()}\n${words}`)).rejects.toThrow(/a day without its time/);
    expect(store.known.refused).toMatchObject([{ form: null, text: `${plain()}\n${words}` }]);
  }
  // A form that can be accepted, behind it, is the newest then.
  await expect(check(`${plain()}\nnetwork:main`)).rejects.toThrow(/another form/);
  expect(store.known.refused.map(({ form }) => form)).toEqual([`${store.known.text}\nnetwork:main`]);
});
