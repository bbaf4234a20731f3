/** The log of a daemon whose logins are refused over and over. */
import { expect, test, vi } from "vitest";
import { accepted, noForms } from "../../src/signer/login-forms.ts";
import { openHouse } from "../support/daemon.ts";

// An upper bound for slow machines: nothing here waits for real time.
vi.setConfig({ testTimeout: 120_000 });

test("a refused login text has a line when it begins, then one in ten minutes with the number of the others", async () => {
  const wallets = ["main", "hedge", "third", "fourth"];
  await using house = await openHouse({ wallets });
  const { loginForms } = house;
  await loginForms.change(() => ({ ...noForms, text: "Log in to the exchange\n{address}\n{nonce hex}" }));
  await house.start();
  const lines = () => house.log.filter(({ msg }) => /^refused to sign/.test(msg)).map(({ msg }) => msg);
  await house.clock.advance(240_000);
  const first =
    "refused to sign a login text: the login text has another form than the one that was trusted: " +
    'line 1 was "Log in to the exchange" and is "Sign in to the exchange"; see: perpwatch wallet trust';
  expect(lines()).toEqual([first]);
  await house.clock.advance(600_000);
  const [, more, again, ...others] = lines();
  expect(more).toMatch(/^refused to sign \d\d+ more times within 10m; signatures\.log has a line for each$/);
  expect([again, others]).toEqual([first, []]);
  await loginForms.change((now) => accepted(now, "text")!);
  await house.clock.advance(90_000);
  expect(house.log.filter(({ msg }) => msg === "signed a login text")).toHaveLength(wallets.length);
});
