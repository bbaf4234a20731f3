/** Logins by password: right and wrong, throttled and logged, behind a proxy and without. */
import { beforeAll, describe, expect, test } from "vitest";
import { addressGroup } from "../../src/web/access/client-address.ts";
import { LoginThrottle } from "../../src/web/access/login-throttle.ts";
import { hashPassword } from "../../src/web/access/password.ts";
import { silentLog } from "../../src/web/log.ts";
import { handClock } from "../channels/hand-clock.ts";
import { cookieOf, type OpenOptions, openDashboard } from "./open.ts";

const password = "correct horse battery";
/** The minimum that a configuration may have. */
const cheap = { N: 16_384, r: 8, p: 1 };
let passwordHash: string;
beforeAll(async () => {
  passwordHash = await hashPassword(password, cheap);
});

async function opened(listen: OpenOptions["listen"] = {}) {
  const machine = handClock();
  const daemon = await openDashboard({}, { listen: { passwordHash, ...listen }, machine });
  return {
    ...daemon,
    machine,
    logInWith: (given: unknown, headers: Record<string, string> = {}) =>
      daemon.overTcp("/api/v1/session", {
        method: "POST",
        headers,
        body: JSON.stringify({ password: given }),
      }),
  };
}

test("the right one logs in, the wrong one does not", async () => {
  await using daemon = await opened();
  const wrong = await daemon.logInWith("correct horse batterY");
  expect([wrong.status, wrong.headers["set-cookie"], wrong.json()]).toEqual([
    401,
    undefined,
    { error: "this password is wrong", password: true },
  ]);
  const right = await daemon.logInWith(password);
  const headers = { cookie: cookieOf(right) };
  expect((await daemon.overTcp("/api/v1/status", { headers })).status).toBe(200);
  expect([...daemon.store.entries.values()]).toMatchObject([{ name: "password", rights: "read" }]);
  expect(daemon.logged.filter(({ message }) => message.includes("failed"))).toEqual([
    {
      address: "127.0.0.1",
      with: "password",
      message: "a login to the local address failed: wrong password",
    },
  ]);
  expect(JSON.stringify(daemon.logged)).not.toMatch(/batter/);
});

test("another Unicode form of the same letters is the same", async () => {
  const [composed, decomposed] = ["grün grün grün".normalize("NFC"), "grün grün grün".normalize("NFD")];
  await using daemon = await opened({ passwordHash: await hashPassword(composed, cheap) });
  expect((await daemon.logInWith(decomposed)).status).toBe(200);
});

test.each([[null], [3], [["x"]], ["x".repeat(2_000)]])("%j is no password", async (given) => {
  await using daemon = await opened();
  expect((await daemon.logInWith(given)).status).toBe(400);
});

test("none logs in where none is configured", async () => {
  await using daemon = await opened({ passwordHash: null });
  const reply = await daemon.logInWith(password);
  expect([reply.status, reply.json()]).toEqual([
    409,
    { error: "no password is configured; perpwatch page makes a link to log in" },
  ]);
});

describe("guesses", () => {
  test("wait after the sixth wrong one, also for the right one, and never more than a minute", async () => {
    await using daemon = await opened();
    const waits: number[] = [];
    for (let failures = 0; failures < 14; ) {
      const reply = await daemon.logInWith("wrong horse battery");
      if (reply.status === 401) {
        failures++;
        continue;
      }
      expect(reply.status).toBe(429);
      const seconds = Number(reply.headers["retry-after"]);
      expect((await daemon.logInWith(password)).status).toBe(429);
      waits.push(seconds);
      // Attempts meanwhile do not extend it.
      daemon.machine.pass(seconds * 1_000 - 1);
      expect(Number((await daemon.logInWith("wrong horse battery")).headers["retry-after"])).toBe(1);
      daemon.machine.pass(1);
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    daemon.machine.pass(60_000);
    expect((await daemon.logInWith(password)).status).toBe(200);
    // A right password resets it.
    for (let failures = 0; failures < 5; failures++)
      expect((await daemon.logInWith("wrong horse battery")).status).toBe(401);
  });

  test("delay neither links nor tokens, nor monitoring", async () => {
    await using daemon = await opened();
    const token = await daemon.token("read");
    const guesses = Array.from({ length: 12 }, () => daemon.logInWith("wrong horse battery"));
    expect((await daemon.overTcp("/healthz")).status).toBe(200);
    expect((await daemon.overSocket("/api/v1/status")).status).toBe(200);
    const headers = { authorization: `Bearer ${token}` };
    expect((await daemon.overTcp("/api/v1/status", { headers })).status).toBe(200);
    const statuses = (await Promise.all(guesses)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
    // Five without a wait, and one more of the simultaneous ones.
    expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(6);
    expect(await daemon.logIn()).toEqual({ cookie: expect.any(String) });
  });

  test("from one address do not delay another", async () => {
    await using daemon = await opened({ behindProxy: true, allowedHosts: ["localhost"] });
    const from = (address: string) => ({ "x-forwarded-for": `10.0.0.1, ${address}` });
    for (let failures = 0; failures < 6; failures++)
      await daemon.logInWith("wrong horse battery", from("203.0.113.7"));
    expect((await daemon.logInWith(password, from("203.0.113.7"))).status).toBe(429);
    expect((await daemon.logInWith(password, from("203.0.113.8"))).status).toBe(200);
    expect(daemon.logged).toContainEqual(
      expect.objectContaining({ address: "203.0.113.7", with: "password" }),
    );
  });

  describe("from many addresses", () => {
    const from = (address: string) => ({ "x-forwarded-for": address });
    const guessing = async () => {
      const daemon = await opened({ behindProxy: true, allowedHosts: ["localhost"] });
      let sent = 0;
      return {
        ...daemon,
        async guess() {
          for (let failures = 0; failures < 20; failures++) {
            const reply = await daemon.logInWith("wrong horse battery", from(`198.51.100.${sent++}`));
            expect(reply.status).toBe(401);
          }
        },
      };
    };

    test("delay an address without a login, and none with one by password, link or token", async () => {
      await using daemon = await guessing();
      const host = { host: "localhost" };
      expect((await daemon.logInWith(password, from("203.0.113.1"))).status).toBe(200);
      const link = new URL(daemon.dashboard.link()!.url).hash.replace("#login=", "");
      const how = {
        method: "POST",
        headers: { ...host, ...from("203.0.113.2"), "perpwatch-link": link },
      };
      expect((await daemon.overTcp("/api/v1/session", how)).status).toBe(200);
      const bearer = { authorization: `Bearer ${await daemon.token("read")}` };
      const asked = { headers: { ...host, ...bearer, ...from("203.0.113.3") } };
      expect((await daemon.overTcp("/api/v1/status", asked)).status).toBe(200);
      await daemon.guess();
      expect((await daemon.logInWith(password, from("203.0.113.9"))).status).toBe(429);
      for (const address of ["203.0.113.1", "203.0.113.2", "203.0.113.3"])
        expect((await daemon.logInWith(password, from(address))).status).toBe(200);
    });

    test("do not change the wait of an address with a login", async () => {
      await using daemon = await guessing();
      expect((await daemon.logInWith(password, from("203.0.113.1"))).status).toBe(200);
      for (let failures = 0; failures < 6; failures++)
        await daemon.logInWith("wrong horse battery", from("203.0.113.1"));
      // A session that is used from there does not end it.
      expect((await daemon.logInWith(password, from("203.0.113.1"))).status).toBe(429);
      const { cookie } = await daemon.logIn();
      const used = { headers: { cookie, host: "localhost", ...from("203.0.113.1") } };
      expect((await daemon.overTcp("/api/v1/status", used)).status).toBe(200);
      expect((await daemon.logInWith(password, from("203.0.113.1"))).status).toBe(429);
    });
  });

  test("from many addresses are forgotten, a hundred known ones are kept", () => {
    const throttle = new LoginThrottle(handClock(), silentLog);
    for (let one = 0; one <= 100; one++) throttle.markKnown(`known ${one}`);
    for (let one = 0; one < 5_000; one++) throttle.failed(`a ${one}`, "a", "password");
    expect(throttle.isKnown("known 0")).toBe(false);
    expect(throttle.isKnown("known 1")).toBe(true);
    expect(throttle.waitMs("known 100")).toBe(0);
    expect(throttle.waitMs("another")).toBeGreaterThan(0);
  });

  test("cannot use a header to appear as others without a proxy, or as none behind one", async () => {
    await using daemon = await opened();
    for (let failures = 0; failures < 6; failures++)
      await daemon.logInWith("wrong horse battery", { "x-forwarded-for": `203.0.113.${failures}` });
    expect((await daemon.logInWith(password, { "x-forwarded-for": "198.51.100.1" })).status).toBe(429);
    const failed = daemon.logged.filter(({ message }) => message.includes("failed"));
    expect(failed.map((line) => (line as { address?: string }).address)).toEqual(Array(6).fill("127.0.0.1"));

    await using proxied = await opened({ behindProxy: true, allowedHosts: ["localhost"] });
    for (const header of ["nonsense\u0007", "1.2.3.4, <script>", ""])
      await proxied.logInWith("wrong horse battery", { "x-forwarded-for": header.replace("\u0007", "") });
    expect(JSON.stringify(proxied.logged)).not.toMatch(/nonsense|script/);
  });

  test.each([
    ["203.0.113.7:4711", "203.0.113.7"],
    ["[2001:db8::1]:4711", "2001:db8::1"],
    ["[2001:db8::1]", "2001:db8::1"],
    // Neither port nor address: the proxy's own address counts.
    ["203.0.113.7:471111", "127.0.0.1"],
    ["203.0.113.7:", "127.0.0.1"],
    ["2001:db8::1]:4711", "127.0.0.1"],
    ["[203.0.113.7]:4711", "127.0.0.1"],
    ["[2001:db8::1", "127.0.0.1"],
    ["watch.example.org:4711", "127.0.0.1"],
  ])("as X-Forwarded-For %j is %s", async (header, address) => {
    await using daemon = await opened({ behindProxy: true, allowedHosts: ["localhost"] });
    await daemon.logInWith("wrong horse battery", { "x-forwarded-for": `192.0.2.1, ${header}` });
    expect(daemon.logged).toContainEqual(expect.objectContaining({ address, with: "password" }));
  });

  test("from many addresses get one attempt in two seconds after the first twenty, and every address a turn", () => {
    const clock = handClock();
    const throttle = new LoginThrottle(clock, silentLog);
    let tried = 0;
    for (let second = 0; second < 600; second++) {
      for (let many = 0; many < 50; many++) {
        const address = `2001:db8::${second}:${many}`;
        if (throttle.waitMs(address) > 0) continue;
        throttle.failed(address, address, "password");
        tried++;
      }
      clock.pass(1_000);
    }
    expect(tried).toBeGreaterThan(300);
    expect(tried).toBeLessThanOrEqual(320);
    clock.pass(2_000);
    expect(throttle.waitMs("192.0.2.1")).toBe(0);
  });

  test("have ten log lines a minute, and the next has the number of omitted ones", () => {
    const clock = handClock();
    const lines: object[] = [];
    const log = { ...silentLog, warn: (fields: object) => void lines.push(fields) };
    const throttle = new LoginThrottle(clock, log);
    for (let times = 0; times < 500; times++) throttle.failed("a", "a", "token");
    expect(lines).toHaveLength(10);
    clock.pass(60_000);
    throttle.failed("b", "b", "link");
    expect(lines.at(-1)).toEqual({ address: "b", with: "link", failuresWithoutLine: 490 });
  });

  test("by tokens or links delay no password", () => {
    const throttle = new LoginThrottle(handClock(), silentLog);
    for (let times = 0; times < 100; times++) throttle.failed("a", "a", times % 2 ? "token" : "link");
    expect(throttle.waitMs("a")).toBe(0);
  });
});

test.each([
  ["203.0.113.7", "203.0.113.7"],
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8:1:2::9", "2001:db8:1:2::/64"],
  ["2001:0DB8:0001:0002::", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["64:ff9b::192.0.2.1", "64:ff9b:0:0::/64"],
  ["unknown", "unknown"],
])("%s is throttled as %s", (address, group) => expect(addressGroup(address)).toBe(group));
