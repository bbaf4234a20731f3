/** A login text of another form than the trusted one, through the whole daemon. */
import { expect, test, vi } from "vitest";
import { accepted, noForms } from "../../src/signer/login-forms.ts";
import { openHouse } from "../support/daemon.ts";

// An upper bound for slow machines: nothing here waits for real time.
vi.setConfig({ testTimeout: 120_000 });

test("one alert for all wallets, positions are watched all the same, and a person's yes signs them in", async () => {
  await using house = await openHouse({ wallets: ["main", "hedge"] });
  const { loginForms } = house;
  await loginForms.save({ ...noForms, text: "Log in to the exchange\n{address}\n{nonce hex}" });
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
  await loginForms.save(accepted(known, "text")!);
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

test("signed out wallets are no stream that is down", async () => {
  await using house = await openHouse({ wallets: ["main", "hedge"] });
  await house.loginForms.save({ ...noForms, text: "Log in to the exchange\n{address}\n{nonce hex}" });
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
