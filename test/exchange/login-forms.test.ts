/** Sessions of wallets whose exchange changes the text of its login. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { accepted, memoryForms } from "../../src/signer/login-forms.ts";
import { testForms, testKey, testSigner } from "./local-exchange.ts";
import { main, rig } from "./rig.ts";

const example = (name: string): Record<string, string> =>
  JSON.parse(readFileSync(new URL(`../contract/examples/${name}`, import.meta.url), "utf8"));

test("a changed text signs no wallet in; once accepted, all of them sign in", async () => {
  const store = memoryForms();
  const forms = testForms(store);
  const wallets = ["main", "hedge"].map((name) => ({ ...main, name, key: testSigner(testKey(name), forms) }));
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
      "login text: the login text has another form than the one that was trusted: " +
        'line 1 was "Sign in to the exchange" and is "Sign in to the exchange please"',
    ]),
  );
  // The alert about the text says it; that somebody else uses the key is another matter.
  expect(set.exchange.sessions.figures.authFailures).toBe(0);
  expect(set.exchange.loginTrouble).toMatch(/another form/);
  await store.change((now) => accepted(now, "text")!);
  for (const { name } of wallets) await set.clock.finish(login(name));
  expect(set.exchange.sessions.all.map(({ signedIn }) => signedIn)).toEqual([true, true]);
  expect(set.exchange.loginTrouble).toBe("");
});

test("a refused text is told until each wallet that it was refused to signs in", async () => {
  const forms = testForms(memoryForms());
  const wallets = ["main", "hedge"].map((name) => ({ ...main, name, key: testSigner(testKey(name), forms) }));
  await using set = await rig({ wallets });
  const login = (name: string) =>
    set.clock.finish(set.exchange.sessions.of(name)!.login({ endMs: set.clock.elapsedMs() + 20_000 }));
  const words = set.venue.loginWords;
  for (const { name } of wallets) await login(name);
  set.venue.loginWords = "Sign in to the exchange please";
  for (const { name } of wallets) await expect(login(name)).rejects.toThrow(/another form/);
  set.venue.loginWords = words;
  await login("hedge");
  expect(set.exchange.loginTrouble).toMatch(/another form/);
  await set.clock.finish(set.exchange.sessions.remove("main"));
  expect(set.exchange.loginTrouble).toBe("");
});

test("a refused text and a refused memo are both told, in the same order whichever came last, until each wallet signs in", async () => {
  const store = memoryForms();
  const forms = testForms(store);
  const byText = { ...main, name: "hedge", key: testSigner(testKey("hedge"), forms) };
  const byMemo = { ...main, key: testSigner(testKey(), forms), login: "transaction" } as const;
  await using set = await rig({ wallets: [byMemo, byText] });
  const { unsigned_transaction } = example("auth-transaction-challenge.json");
  const { signed_transaction } = example("auth-login-transaction-request.json");
  set.venue.acceptTransaction(unsigned_transaction!, signed_transaction!);
  set.venue.loginWords = "Sign in to another site";
  const login = (name: string) =>
    set.clock.finish(set.exchange.sessions.of(name)!.login({ endMs: set.clock.elapsedMs() + 20_000 }));
  const both = expect.stringMatching(
    /^the login text is more than .*; the memo of the login transaction is more than [^;]*$/,
  );
  const troubleAfter = async (name: string) => {
    await expect(login(name)).rejects.toThrow(/is more than a plain login/);
    return set.exchange.loginTrouble;
  };
  await troubleAfter("hedge");
  expect([await troubleAfter("main"), await troubleAfter("hedge")]).toEqual([both, both]);
  await store.change((now) => accepted(now, "memo")!);
  await login("main");
  expect(set.exchange.loginTrouble).toMatch(/^the login text is more than [^;]*$/);
  await store.change((now) => accepted(now, "text")!);
  await login("hedge");
  expect(set.exchange.loginTrouble).toBe("");
});
