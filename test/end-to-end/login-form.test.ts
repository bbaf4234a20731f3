/** A login text of another form than the trusted one, and a keystore that is closed, through the whole daemon. */
import { expect, test, vi } from "vitest";
import { formsFromText } from "../../src/signer/form-file.ts";
import { accepted, noForms } from "../../src/signer/login-forms.ts";
import { openHouse } from "../support/daemon.ts";

// An upper bound for slow machines: nothing here waits for real time.
vi.setConfig({ testTimeout: 120_000 });

test("one alert for all wallets, positions are watched all the same, and a person's yes signs them in", async () => {
  await using house = await openHouse({ wallets: ["main", "hedge"] });
  const { loginForms } = house;
  await loginForms.change(() => ({ ...noForms, text: "Log in to the exchange\n{address}\n{nonce hex}" }));
  await house.hold({ collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" });
  const { daemon } = await house.start();
  await house.clock.advance(20_000);
  const told = () => house.headlines().filter((line) => /No wallet signs in/.test(line));
  expect(told()).toHaveLength(1);
  expect(told()[0]).toContain(
    "No wallet signs in: the login text has another form than the one that was trusted: " +
      'line 1 was "Log in to the exchange" and is "Sign in to the exchange"',
  );
  expect(daemon.status().watch.wallets.map(({ signedIn }) => signedIn)).toEqual([false, false]);
  await house.bring("SOL", 0.03);
  await house.clock.advance(5_000);
  expect(house.chats(/SOL long is 3% from liquidation/)).toHaveLength(1);
  const known = await loginForms.load();
  expect(known.refused[0]!.form).toBe(
    "Sign in to the exchange\nwallet:{address}\nnonce:{nonce hex}\nexpires:{time}",
  );
  // Wallets that are not signed in for that reason have no alert of their own.
  await house.clock.advance(600_000);
  expect(house.headlines().filter((line) => /No data/.test(line))).toEqual([]);
  await loginForms.change((now) => accepted(now, "text")!);
  await house.clock.advance(90_000);
  expect(daemon.status().watch.wallets.map(({ signedIn }) => signedIn)).toEqual([true, true]);
  expect(house.chats(/RESOLVED: Wallets sign the exchange's login text again/)).toHaveLength(1);
  expect(house.headlines().filter((line) => /No data/.test(line))).toEqual([]);
  expect(told().filter((line) => !/STILL/.test(line))).toHaveLength(1);
  // Reads that need a session fail meanwhile for this reason alone.
  expect(house.headlines().filter((line) => /reads? of the exchange/i.test(line))).toEqual([]);
  const signed = house.log.filter(({ msg }) => msg === "signed a login text");
  expect(new Set(signed.map(({ wallet }) => wallet))).toEqual(new Set(["main", "hedge"]));
});

test("a record of forms of another version is one alert for all wallets, positions are watched all the same", async () => {
  await using house = await openHouse({ wallets: ["main", "hedge"] });
  const { loginForms } = house;
  const { load } = loginForms;
  const newer = JSON.stringify({ ...noForms, until: "2030-01-01" });
  loginForms.load = async () => formsFromText("login-forms.json", newer);
  await house.hold({ collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" });
  const { daemon } = await house.start();
  await house.clock.advance(20_000);
  const told = () => house.headlines().filter((line) => /No wallet signs in/.test(line));
  expect(told()).toEqual([
    expect.stringContaining(
      "No wallet signs in: the trusted forms of login cannot be read: login-forms.json is of another version of perpwatch",
    ),
  ]);
  expect(told()[0]).toContain("start that version again, or a newer one");
  await house.bring("SOL", 0.03);
  await house.clock.advance(5_000);
  expect(house.chats(/SOL long is 3% from liquidation/)).toHaveLength(1);
  await house.clock.advance(600_000);
  expect(house.headlines().filter((line) => /No data/.test(line))).toEqual([]);
  expect(told().filter((line) => !/STILL/.test(line))).toHaveLength(1);
  loginForms.load = load;
  await house.clock.advance(90_000);
  expect(daemon.status().watch.wallets.map(({ signedIn }) => signedIn)).toEqual([true, true]);
});

test("signed out wallets are no stream that is down", async () => {
  await using house = await openHouse({ wallets: ["main", "hedge"] });
  await house.loginForms.change(() => ({
    ...noForms,
    text: "Log in to the exchange\n{address}\n{nonce hex}",
  }));
  const { daemon } = await house.start({
    exchange: { baseUrl: house.simulator.url, requestsPerSecond: 200, streams: "auto" },
  });
  await house.clock.advance(420_000);
  expect(daemon.status().streams!.connections.map(({ connected }) => connected)).toEqual([
    true,
    false,
    false,
  ]);
  expect(daemon.status().watch.firing.map(({ rule }) => rule)).toEqual(["LoginTextChanged"]);
});

test("a closed keystore is one alert for all wallets, positions are watched all the same", async () => {
  await using house = await openHouse({ wallets: ["main", "hedge"] });
  house.signerTrouble = "the passphrase does not open the keystore";
  await house.hold({ collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" });
  const { daemon } = await house.start({
    wallets: house.simulator.traders.map(({ name, authority }) => ({ name, keystore: authority })),
  });
  await house.clock.advance(180_000);
  await house.bring("SOL", 0.03);
  await house.clock.advance(5_000);
  expect(house.chats(/SOL long is 3% from liquidation/)).toHaveLength(1);
  await house.clock.advance(600_000);
  const { firing, wallets } = daemon.status().watch;
  expect(wallets.map(({ signedIn }) => signedIn)).toEqual([false, false]);
  const ofPositions = /Liquidation|LosingFast|DailyLoss|Drawdown|Margin|StopLoss/;
  expect(firing.map(({ rule }) => rule).filter((rule) => !ofPositions.test(rule))).toEqual([
    "SignerUnavailable",
  ]);
  const told = house.headlines().filter((line) => /sign in|No data|reads? of the exchange/i.test(line));
  expect(told.filter((line) => !/STILL/.test(line))).toEqual([
    expect.stringContaining("No wallet can sign in: the passphrase does not open the keystore"),
  ]);
});
