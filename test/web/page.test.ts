/** The page as sent to a browser: its policy, and the output of its script for a status, without any other environment. */
import { createHash } from "node:crypto";
import { createContext, runInContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toWire } from "../../src/web/index.ts";
import type { PageEvent } from "../../src/web/page/browser.ts";
import { createLogin } from "../../src/web/page/login.ts";
import { script } from "../../src/web/page/page.ts";
import { runPage } from "../../src/web/page/run.ts";
import { openDashboard } from "./open.ts";
import { TinyNode } from "./tiny-dom.ts";
import { alert, calmStatus, darkStatus, nowMs, status, wallet } from "./world.ts";

const places = [
  ...[
    "login",
    "state",
    "banner",
    "summary",
    "alerts",
    "wallets",
    "channels",
    "schedules",
    "daemon",
    "version",
  ],
] as const;

class Refusal {
  readonly status: number;
  readonly body: object;
  constructor(status: number, body: object) {
    this.status = status;
    this.body = body;
  }
}

/** A browser with time and answers controlled by the test. */
function openBrowser() {
  const roots = new Map<string, TinyNode>(places.map((id) => [id, new TinyNode("div")]));
  const body = new TinyNode("body");
  const timers: (() => void)[] = [];
  const listeners: { readonly name: string; readonly listener: (event: PageEvent) => void }[] = [];
  let elapsedMs = 0;
  let answer: (url: string, method: string) => unknown = () => ({});
  const document = {
    hidden: false,
    body,
    title: "perpwatch",
    getElementById: (id: string) =>
      roots.get(id) ??
      [...roots.values()].flatMap((root) => root.all()).find((node) => node.getAttribute("id") === id) ??
      null,
    createElement: (name: string) => new TinyNode(name),
    addEventListener: (name: string, listener: (event: PageEvent) => void) =>
      void listeners.push({ name, listener }),
  };
  const asked: string[] = [];
  const sent: object[] = [];
  const location = { hash: "", pathname: "/" };
  const globals = {
    document,
    performance: { now: () => elapsedMs },
    AbortSignal: { timeout: () => null },
    location,
    history: {
      replaceState(_state: null, _title: string, url: string) {
        location.hash = "";
        location.pathname = url;
      },
    },
    addEventListener: document.addEventListener,
    fetch: async (
      url: string,
      { method = "GET", headers, body }: { method?: string; headers?: object; body?: string } = {},
    ) => {
      asked.push(url);
      if (method !== "GET")
        sent.push({
          method,
          ...(headers && { headers }),
          ...(body === undefined ? {} : { body: JSON.parse(body) as unknown }),
        });
      const told = answer(url, method);
      if (told instanceof Refusal) return { ok: false, status: told.status, json: async () => told.body };
      return { ok: typeof told !== "number", status: Number(told), json: async () => told };
    },
    setInterval: (run: () => void) => void timers.push(run),
  };
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    ...{ globals, document, body, asked, sent, location, roots, turn },
    text: (id: (typeof places)[number]) => roots.get(id)!.textContent.replace(/\s+/g, " ").trim(),
    root: (id: (typeof places)[number]) => roots.get(id)!,
    answers: (now: (url: string, method: string) => unknown) => {
      answer = now;
    },
    async pass(ms: number) {
      elapsedMs += ms;
      for (const run of timers) run();
      await turn();
    },
    /** An event of the document or the window. */
    async event(name: string, of: object = {}) {
      for (const one of listeners) if (one.name === name) one.listener({ preventDefault: () => {}, ...of });
      await turn();
    },
  };
}

const wire = (value: object) => JSON.parse(toWire({ ...value, nowMs })) as unknown;

/** Runs the script as sent, with only JavaScript itself and the browser's parts. */
async function show(value: object) {
  const browser = openBrowser();
  browser.answers(() => wire(value));
  runInContext(script, createContext({ ...browser.globals }));
  await browser.turn();
  return browser;
}

describe("the document", () => {
  test("requests nothing from other hosts, and runs only what its policy names", async () => {
    await using daemon = await openDashboard();
    const { text, headers } = await daemon.overTcp("/");
    expect(headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(text.match(/(?:https?:|wss?:)?\/\/[\w.-]+\.\w+/g)).toBeNull();
    expect(text).not.toMatch(/@import|url\(| style="| on\w+="/);
    const policy = String(headers["content-security-policy"]);
    expect(policy).not.toContain("unsafe");
    for (const [tag, directive] of [
      ["script", "script-src"],
      ["style", "style-src"],
    ]) {
      const inline = [...text.matchAll(new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`, "g"))];
      expect(inline).toHaveLength(1);
      const hash = createHash("sha256").update(inline[0]![1]!).digest("base64");
      expect(policy).toContain(`${directive} 'sha256-${hash}'`);
    }
    const [icon] = [...text.matchAll(/href="([^"]*)"/g)];
    expect((await daemon.overTcp(icon![1]!)).headers["content-type"]).toBe("image/svg+xml");
  });

  test("has a place for everything that is drawn", async () => {
    await using daemon = await openDashboard();
    const { text } = await daemon.overTcp("/");
    for (const id of places) expect(text).toContain(`id="${id}"`);
  });
});

describe("what it shows", () => {
  test("alerts, highest level first; pending; sources without data", async () => {
    const browser = await show(status());
    const alerts = browser.text("alerts");
    const order = ["LiquidationNear", "Drawdown", "FundingCost", "pending", "no data"];
    const found = order.map((word) => alerts.indexOf(word));
    expect(found).toEqual([...found].sort((a, b) => a - b));
    expect(found).not.toContain(-1);
    expect(alerts).toContain("acknowledged by ann");
    expect(alerts).toContain("11 s of 30 s · since");
    expect(alerts).toContain("already so when watching began");
    expect(alerts).toContain("at its worst: Down 15.1 %");
    expect(alerts).toContain("cannot judge LiquidationNear, MarginRatioHigh");
    expect(browser.document.title).toBe("‼ 3 firing · perpwatch");
    expect(browser.asked).toEqual(["/api/v1/status", "/api/v1/session"]);
  });

  test("wallets with the age of their data, old ones first; positions by distance", async () => {
    const wallets = (await show(status())).text("wallets");
    expect(wallets.indexOf("watched")).toBeLessThan(wallets.indexOf("desk"));
    expect(wallets).toContain("data is old: 1 min 14 s");
    expect(wallets).toContain("data 0.8 s old");
    expect(wallets.indexOf("SOL ▲ long")).toBeLessThan(wallets.indexOf("ETH ▼ short"));
    for (const text of ["3.12 %", "87.1 %", "−$10,563", "+$687.50", "138.29", "at risk", "3 notifications"])
      expect(wallets).toContain(text);
    // No liquidation price, no margin, not known: each has its own sign.
    expect(wallets).toMatch(/92,200 none over 10,000 % none \+\$59\.80/);
    expect(wallets).toMatch(/main\/0\.2 Margin ratio over 10,000 % Equity –/);
  });

  test("the outbox, schedules as late as their latest, the daemon", async () => {
    const browser = await show(status());
    expect(browser.text("channels")).toMatch(
      /mail email broken: 535 authentication failed 4 waiting oldest 9 min 00 s · 88 delivered since start/,
    );
    expect(browser.text("schedules")).toMatch(
      /traderState every 1 s to 5 s · 3 wallets 1 of 3 failing: timeout, no answer within 4 s \(12 in a row\) 1 min 14 s ago 1 min 09 s late markets every 2 s 1\.3 s ago on time/,
    );
    expect(browser.text("schedules")).toContain("funding every 5 min not read yet");
    expect(browser.text("daemon")).toMatch(/Database 48\.2 MB \.\/data\/perpwatch\.db/);
    expect(browser.text("summary")).toMatch(
      /Fresh wallets 2 of 3 1 without fresh data Undelivered 5 1 channel broken/,
    );
  });

  test("a limit of requests, since when, until when and at which rate", async () => {
    const limited = { kind: "rateLimited", sinceMs: nowMs - 12_000, untilMs: nowMs + 5_000 } as const;
    const granted = { perSecond: 4, sinceMs: nowMs - 12_000 };
    const { requests } = status();
    const browser = await show(
      status({ outage: null, requests: { ...requests, ratePerSecond: 4, granted, limited } }),
    );
    expect(browser.text("banner")).toMatch(
      /^The exchange limits requests, for 12 s ?Refused with HTTP 429 since [\d:]{8}; asked again at [\d:]{8}, at most 4 times a second/,
    );
    expect(browser.text("daemon")).toMatch(/Exchange ?limits requests ?since [\d:]{8} · last known: /);
    expect(browser.text("daemon")).toMatch(
      /refused since .*, asked again at .* granted by the exchange since/,
    );
  });

  test("during an outage no data is shown as current", async () => {
    const browser = await show(darkStatus());
    expect(browser.text("banner")).toMatch(
      /^The exchange cannot be reached, for 3 min 00 s connect ECONNREFUSED 10\.0\.0\.1:443\. Positions, prices/,
    );
    expect(browser.text("daemon")).toMatch(
      /Exchange cannot be reached since \d\d:57:00: connect ECONNREFUSED 10\.0\.0\.1:443 · last known: trading/,
    );
    const wallets = browser.text("wallets");
    expect(wallets).toMatch(/142\.75 3 min 00 s old 138\.29/);
    expect(wallets).toMatch(/main\/0\.0 3 min 00 s old/);
    expect(browser.text("alerts")).toMatch(/SOL is 3\.1 % from liquidation #57 .* text as of \d\d:57:00/);
    expect(browser.text("channels")).toContain("mail email retrying: connect ECONNREFUSED 10.0.0.2:587");
    expect(browser.text("channels")).not.toContain("broken");
  });

  test("an inbox that is refused, older pages that are not read, a margin ratio above a half", async () => {
    const { schedules, watch } = status();
    const [desk, ...others] = watch.wallets;
    const [first] = desk!.accounts;
    const tight = { ...first!, figures: { ...first!.figures, marginRatio: 0.61 } };
    const browser = await show(
      status({
        watch: { ...watch, wallets: [{ ...desk!, accounts: [tight] }, ...others] },
        schedules: schedules.map((one) => {
          if (one.source === "funding")
            return {
              ...one,
              catchUpFailure: { atMs: nowMs, reason: "server-error", detail: "x: 500", times: 3 },
            };
          if (one.source !== "notifications") return one;
          const detail = "notifications: 403 insufficient_role";
          return { ...one, failuresInRow: 4, lastFailure: { atMs: nowMs, reason: "refused", detail } };
        }),
      }),
    );
    expect(browser.text("wallets")).toContain(
      "signed in, but notifications are refused: 403 insufficient_role",
    );
    expect(browser.text("schedules")).toContain("older pages cannot be read: server-error, x: 500 (3 times)");
    const bars = browser.root("wallets").all();
    const tones = bars
      .filter((node) => /margin ratio 61/.test(node.getAttribute("aria-label") ?? ""))
      .map((node) => node.getAttribute("class"));
    expect(tones).toEqual(["bar warning"]);
  });

  test("no colours when all is well", async () => {
    const browser = await show(calmStatus());
    expect(browser.text("alerts")).toBe("Alerts Nothing fires. 21 rules watch.");
    expect(browser.text("banner")).toBe("");
    expect(browser.document.title).toBe("perpwatch");
    const loud = browser.root("summary").all();
    expect(loud.filter((node) => /critical/.test(node.getAttribute("class") ?? ""))).toEqual([]);
  });

  test("nothing yet: no wallet, no channel, no schedule", async () => {
    const { watch } = status();
    const empty = { ...watch, wallets: [], firing: [], pending: [], blind: [], markets: [] };
    const browser = await show(status({ state: "starting", watch: empty, channels: [], schedules: [] }));
    expect(browser.text("banner")).toContain("Starting");
    expect(browser.text("wallets")).toBe("Wallets No wallet is configured.");
    expect(browser.text("summary")).toContain("no open position");
  });

  test("states how much it omits", async () => {
    const { watch } = status();
    const wallets = Array.from({ length: 75 }, (_, at) => wallet({ name: `w${at}`, accounts: [] }));
    const firing = Array.from({ length: 41 }, (_, id) => alert({ id }));
    const browser = await show(status({ watch: { ...watch, wallets, firing } }));
    expect(browser.text("wallets")).toContain("and 15 wallets more");
    expect(browser.text("alerts")).toContain("and 1 alert more");
  });

  test("invisible characters are shown as escapes", async () => {
    const nasty = "S\u001b[2JO\u202eL\u200b 👩‍🚀";
    const { watch, channels } = status();
    const named = wallet({ name: nasty, authority: nasty, signedIn: false, sessionDetail: nasty });
    const firing = [alert({ rule: nasty, subject: nasty, summary: nasty, acknowledgedBy: nasty })];
    const browser = await show(
      status({
        watch: { ...watch, wallets: [named], firing },
        channels: [{ ...channels[1]!, detail: nasty }],
      }),
    );
    for (const id of ["alerts", "wallets", "channels"] as const) {
      expect(browser.text(id)).toContain("S\\u001b[2JO\\u202eL\\u200b 👩‍🚀");
      expect(browser.text(id)).not.toMatch(/(?!\n)\p{Cc}|\u202e|\u200b/u);
    }
  });

  test("text from outside stays text", async () => {
    const nasty = `<img src=x onerror="alert(1)">&amp;'"</script>`;
    const { watch, channels } = status();
    const named = wallet({ name: nasty, authority: nasty, signedIn: false, sessionDetail: nasty });
    const firing = [alert({ rule: nasty, subject: nasty, summary: nasty, acknowledgedBy: nasty })];
    const browser = await show(
      status({
        version: nasty,
        watch: { ...watch, wallets: [named], firing },
        channels: [{ ...channels[1]!, name: nasty, kind: nasty, detail: nasty }],
      }),
    );
    for (const id of ["alerts", "wallets", "channels", "version"] as const) {
      expect(browser.text(id)).toContain(`<img src=x onerror="alert(1)">&amp;'"</script>`);
      const tags = browser
        .root(id)
        .all()
        .map((node) => node.tagName);
      expect(tags.filter((tag) => ["img", "script"].includes(tag))).toEqual([]);
    }
  });
});

describe("when something is wrong with the daemon itself", () => {
  test("one without an answer is shown as such, and its last data as old", async () => {
    const browser = await show(calmStatus());
    browser.answers(() => {
      throw new TypeError("fetch failed");
    });
    await browser.pass(2_000);
    expect(browser.body.classes).toContain("gone");
    expect(browser.text("banner")).toMatch(/^No answer from the daemon for 2\.0 s It cannot be reached\./);
    expect(browser.text("wallets")).toContain("data 2.8 s old");
    expect(browser.document.title).toBe("⚠ no answer · perpwatch");
    await browser.pass(60_000);
    expect(browser.text("wallets")).toContain("data is old: 1 min 02 s");
    // After it is back, nothing of that remains.
    browser.answers(() => wire(calmStatus()));
    await browser.pass(2_000);
    expect(browser.body.classes).not.toContain("gone");
    expect(browser.text("banner")).toBe("");
  });

  test("one that never answered is reported, with the failure", async () => {
    const browser = openBrowser();
    browser.answers(() => 500);
    runInContext(script, createContext({ ...browser.globals }));
    await browser.turn();
    expect(browser.text("banner")).toMatch(/No answer from the daemon It answered 500/);
  });

  test("a suspended tab requests at once, and does not show old figures as current", async () => {
    const browser = await show(calmStatus());
    browser.document.hidden = true;
    await browser.pass(600_000);
    const status = () => browser.asked.filter((url) => url === "/api/v1/status").length;
    expect(status()).toBe(1);
    browser.document.hidden = false;
    await browser.event("visibilitychange");
    expect(status()).toBe(2);
    expect(browser.text("banner")).toBe("");
  });

  test.each([
    ["a watch that stands still", { atMs: nowMs - 90_000 }, {}, "No rule has been judged for 1 min 30 s"],
    ["a full disk", {}, { state: "degraded" as const }, "The database takes nothing"],
    ["a stop", {}, { state: "stopping" as const }, "Stopping"],
  ])("%s", async (_name, ofWatch, of, told) => {
    const { watch, ...rest } = calmStatus();
    const browser = await show({ ...rest, ...of, watch: { ...watch, ...ofWatch } });
    expect(browser.text("banner")).toContain(told);
  });
});

describe("a browser that is not logged in", () => {
  const none = (password: boolean) => new Refusal(401, { error: "this needs a login", password });

  /** @param hash fragment of the address */
  async function opened(answers: (url: string, method: string) => unknown, hash = "") {
    const browser = openBrowser();
    browser.location.hash = hash;
    browser.answers(answers);
    runInContext(script, createContext({ ...browser.globals }));
    await browser.turn();
    return browser;
  }

  test("states how to log in, requests seldom, and is drawn once another tab has logged in", async () => {
    let isIn = false;
    const browser = await opened((url) =>
      url !== "/api/v1/status" ? { by: "session" } : isIn ? wire(calmStatus()) : none(false),
    );
    expect(browser.text("login")).toMatch(
      /^Log in ?This page needs a login\. .* perpwatch page and open the link/,
    );
    expect(browser.root("login").innerHTML).not.toContain("<form");
    expect(browser.body.classes).toContain("locked");
    expect(browser.document.title).toBe("perpwatch · log in");
    for (let times = 0; times < 10; times++) await browser.pass(2_000);
    expect(browser.asked).toEqual(Array(3).fill("/api/v1/status"));
    isIn = true;
    await browser.event("visibilitychange");
    expect(browser.text("login")).toBe("");
    expect(browser.text("alerts")).toContain("Nothing fires");
    expect([...browser.body.classes]).toEqual(["session"]);
  });

  test.each([
    ["as it is opened", true],
    ["in a page that is open already", false],
  ])("uses a one-time link %s, and takes it out of the address first", async (_when, atOnce) => {
    let isIn = false;
    const answers = (url: string, method: string) => {
      if (method === "POST") {
        expect(browser.location).toEqual({ hash: "", pathname: "/" });
        isIn = true;
        return {};
      }
      return url === "/api/v1/status" ? (isIn ? wire(calmStatus()) : none(false)) : { by: "session" };
    };
    const browser = openBrowser();
    if (atOnce) browser.location.hash = "#login=abc";
    browser.answers(answers);
    runInContext(script, createContext({ ...browser.globals }));
    await browser.turn();
    if (!atOnce) {
      browser.location.hash = "#login=abc";
      await browser.event("hashchange");
    }
    expect(browser.sent).toEqual([{ method: "POST", headers: { "perpwatch-link": "abc" } }]);
    expect(browser.text("alerts")).toContain("Nothing fires");
    expect(browser.text("login")).toBe("");
  });

  test("uses a link that is opened while another is sent", async () => {
    let isIn = false;
    const browser = openBrowser();
    browser.location.hash = "#login=old";
    browser.answers((url, method) => {
      if (method !== "POST") return url === "/api/v1/status" && isIn ? wire(calmStatus()) : none(false);
      if (browser.sent.length > 1) {
        isIn = true;
        return {};
      }
      browser.location.hash = "#login=new";
      void browser.event("hashchange");
      return new Refusal(401, { error: "used up" });
    });
    runInContext(script, createContext({ ...browser.globals }));
    await browser.turn();
    const posts = ["old", "new"].map((link) => ({ method: "POST", headers: { "perpwatch-link": link } }));
    expect(browser.sent).toEqual(posts);
    expect(browser.text("alerts")).toContain("Nothing fires");
  });

  test("is offered a password as soon as there is one", async () => {
    let hasPassword = false;
    const browser = await opened(() => none(hasPassword));
    expect(browser.root("login").innerHTML).not.toContain("<form");
    hasPassword = true;
    await browser.event("visibilitychange");
    expect(browser.root("login").innerHTML).toContain("<form");
  });

  test("is told that a link was used, with the text escaped", async () => {
    const browser = await opened(
      (_url, method) => (method === "POST" ? new Refusal(401, { error: "used <b>up</b>" }) : none(false)),
      "#login=abc",
    );
    expect(browser.text("login")).toMatch(/used <b>up<\/b>$/);
  });

  test("logs in by password where there is one, and out again", async () => {
    let isIn = false;
    const browser = await opened((url, method) => {
      if (method === "DELETE") isIn = false;
      if (method === "POST" && !isIn)
        return new Refusal(401, { error: "this password is wrong", password: true });
      return url === "/api/v1/status" ? (isIn ? wire(calmStatus()) : none(true)) : { by: "session" };
    });
    const field = browser
      .root("login")
      .all()
      .find((node) => node.getAttribute("type") === "password")!;
    Object.assign(field, { value: "correct horse" });
    await browser.event("submit");
    expect(browser.sent).toEqual([
      {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: { password: "correct horse" },
      },
    ]);
    expect(browser.text("login")).toContain("this password is wrong");
    isIn = true;
    await browser.event("submit");
    expect(browser.text("alerts")).toContain("Nothing fires");
    await browser.event("click", { target: { id: "logout" } });
    expect(browser.sent.at(-1)).toEqual({ method: "DELETE" });
    expect(browser.text("login")).toContain("Or log in by password");
    // The document contains no data of the daemon.
    for (const id of places) if (id !== "login") expect(browser.text(id)).toBe("");
  });

  test("has nothing to log out of where no login is needed", async () => {
    const browser = await opened((url) => (url === "/api/v1/status" ? wire(calmStatus()) : { by: "anyone" }));
    expect([...browser.body.classes]).toEqual([]);
  });
});

describe("drawing again", () => {
  const list = (rows: readonly (readonly [string, number])[]) =>
    rows
      .map(([key, value]) => `<li data-key="${key}" class="c${value % 3}">${value}<b>${key}</b></li>`)
      .join("");

  /** Draws one text after the other into the same element. */
  async function drawn(htmls: readonly string[]) {
    const browser = openBrowser();
    let at = 0;
    browser.answers(() => wire(calmStatus()));
    runPage(
      browser.globals,
      () => ({ places: { alerts: { html: htmls[at]! } }, title: "", gone: false }),
      createLogin,
    );
    await browser.turn();
    const before = [...browser.root("alerts").childNodes];
    for (at = 1; at < htmls.length; at++) await browser.pass(1_000);
    return { before, after: browser.root("alerts") };
  }

  test("leaves the document as if it had been drawn anew", async () => {
    const rows = fc
      .uniqueArray(fc.constantFrom(..."abcdefgh"), { maxLength: 8 })
      .chain((keys) => fc.tuple(...keys.map((key) => fc.tuple(fc.constant(key), fc.nat(9)))));
    const text = fc.oneof(rows.map(list), fc.constantFrom("", "plain", "<p>one</p>two", "<p><i>x</i></p>"));
    await fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 2, maxLength: 5 }), async (htmls) => {
        const { after } = await drawn(htmls);
        const fresh = new TinyNode("div");
        fresh.innerHTML = htmls.at(-1)!;
        expect(after.innerHTML).toBe(fresh.innerHTML);
      }),
      { numRuns: 150 },
    );
  });

  test("keeps the nodes of what moved, so that a selection in them stays", async () => {
    const { before, after } = await drawn([
      list([
        ["a", 1],
        ["b", 2],
        ["c", 3],
      ]),
      list([
        ["c", 4],
        ["a", 1],
      ]),
    ]);
    expect(after.childNodes[0]).toBe(before[2]);
    expect(after.childNodes[1]).toBe(before[0]);
  });
});
