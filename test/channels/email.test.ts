/** Email over real SMTP: contents of mails, classification of the server's replies, and time limits. */
import { createServer, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import type { Channel } from "../../src/channels/channel.ts";
import { pngOf } from "../../src/channels/chart/png.ts";
import { createEmail, type EmailLimits } from "../../src/channels/email/channel.ts";
import type { Draw } from "../../src/channels/email/chart.ts";
import { emailSettings } from "../../src/channels/email/settings.ts";
import { silentLog } from "../../src/channels/log.ts";
import { type LocalSmtp, type SmtpFault, type SmtpOptions, startSmtp } from "../support/smtp.ts";
import { atMs, change, message, outgoing } from "./messages.ts";

const never = new AbortController().signal;

interface Rig extends AsyncDisposable {
  readonly smtp: LocalSmtp;
  readonly channel: Channel;
  /** Another channel to the same server, with the default time limits. */
  patient(): Channel;
}

async function rig(
  options: SmtpOptions = {},
  more: object = {},
  limits: Partial<EmailLimits> = {},
  draw?: Draw,
): Promise<Rig> {
  const smtp = await startSmtp(options);
  const secure = options.tls === "tls" ? true : options.tls === "starttls" ? "starttls" : false;
  const { host, port, ca } = smtp;
  const settings = emailSettings.parse({
    type: "email",
    smtp: { host, port, secure, ...(ca === "" ? {} : { ca }), ...more },
    from: "perpwatch <watch@example.org>",
    to: ["me@example.net", "You <you@example.net>"],
  });
  const made: Channel[] = [];
  const open = (its: Partial<EmailLimits>) => {
    const deps = { log: silentLog, timezone: "Europe/Berlin", limits: its, ...(draw ? { draw } : {}) };
    const channel = createEmail("mail", settings, deps);
    made.push(channel);
    return channel;
  };
  return {
    smtp,
    channel: open(limits),
    patient: () => open({}),
    async [Symbol.asyncDispose]() {
      for (const channel of made) await channel.stop();
      await smtp.close();
    },
  };
}

test("a mail is complete as text and as HTML, and is marked as automatic", async () => {
  await using one = await rig();
  const sent = message();
  const result = await one.channel.send(outgoing({ message: sent }), never);
  expect(result).toEqual({ kind: "delivered", receipt: expect.stringContaining("250 ") });
  const [mail] = one.smtp.mails;
  expect(mail?.subject).toBe("FIRING critical: main: SOL long is 4.2 % from liquidation (#42)");
  expect(mail?.text.trim().split("\n")).toEqual([
    "FIRING critical: main: SOL long is 4.2 % from liquidation",
    "",
    "Mark $132.10, liquidation $126.55, margin ratio 78 %.",
    "Mark price: $132.10 · Liquidation price: $126.55 · Margin ratio: 78 %",
    "Seen 2026-11-21 04:41:18 CET, on data 2s old.",
    "To stop the reminders: perpwatch alerts ack 42",
    "What to do: https://runbooks.example.org/liquidation",
    "Alert #42, rule LiquidationNear",
    "",
    `perpwatch on nuc · ${sent.id}`,
  ]);
  expect(mail?.html).toContain('<a class="pw-link" href="https://runbooks.example.org/liquidation"');
  expect(mail?.html).not.toMatch(/<(img|script|link|iframe)|src=|url\(/i);
  expect(mail?.messageId).toBe(`<${sent.id}@example.org>`);
  expect(mail?.headers.get("auto-submitted")).toBe("auto-generated");
  expect(mail?.headers.get("importance")).toBe("High");
  expect(mail?.headers.get("from")).toBe("perpwatch <watch@example.org>");
  expect(mail?.to).toEqual(["me@example.net", "you@example.net"]);
  expect(mail?.headers.get("date")).toBe("Sat, 21 Nov 2026 03:41:18 +0000");
});

describe("a chart", () => {
  const chart = {
    ...{ alertId: 42, title: "main/0.0/SOL: position.liquidationDistance", unit: "ratio" },
    points: Array.from({ length: 200 }, (_, at) => [atMs - (200 - at) * 60_000, 0.2 - at * 0.0008] as const),
    thresholds: [
      { severity: "warning", value: 0.1 },
      { severity: "critical", value: 0.05 },
    ],
  } as const;

  test("stands in the HTML, from a part of the mail, with words for those who do not see it; the text is as ever", async () => {
    await using one = await rig();
    const sent = message([change()], { content: { chart } });
    const plain = { ...sent, content: { ...sent.content } };
    Reflect.deleteProperty(plain.content, "chart");
    await one.channel.send(outgoing({ message: sent }), never);
    await one.channel.send(outgoing({ message: plain }), never);
    const [mail, without] = one.smtp.mails;
    expect(mail?.shape).toBe("multipart/alternative(text/plain, multipart/related(text/html, image/png))");
    expect(without?.shape).toBe("multipart/alternative(text/plain, text/html)");
    expect(mail?.text).toBe(without?.text);
    const [picture, ...more] = mail?.inline ?? [];
    expect(more).toEqual([]);
    expect(picture).toMatchObject({
      type: "image/png",
      disposition: "inline",
      id: `chart.${sent.id}@example.org`,
    });
    expect([picture?.data.readUInt32BE(16), picture?.data.readUInt32BE(20)]).toEqual([1280, 480]);
    expect(Buffer.byteLength(mail?.raw ?? "")).toBeLessThan(80_000);
    const [image, ...others] = mail?.html.match(/<img[^>]*>/g) ?? [];
    expect(others).toEqual([]);
    expect(image).toContain(`src="cid:${picture?.id}" width="552" height="207"`);
    expect(image).toContain(
      'alt="main/0.0/SOL: position.liquidationDistance, from 20% to 4.08% within 3h 19m; fires at 10% (warning), 5% (critical)"',
    );
    expect(mail?.html).not.toMatch(/https?:\/\/(?!runbooks)/);
  });

  test("below the figures of its alert among several; without that alert there is no chart", async () => {
    await using one = await rig();
    const others = [
      change("fired", { id: 7, event: true, state: "ended" }),
      change(),
      change("fired", { id: 43 }),
    ];
    await one.channel.send(outgoing({ message: message(others, { content: { chart } }) }), never);
    await one.channel.send(
      outgoing({ message: message(others, { content: { chart: { ...chart, alertId: 9 } } }) }),
      never,
    );
    const html = one.smtp.mails[0]?.html ?? "";
    const places = ["#7</span>", "#42</span>", "<img", "#43</span>"].map((part) => html.indexOf(part));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places).not.toContain(-1);
    expect(one.smtp.mails[1]).toMatchObject({ inline: [], html: expect.not.stringContaining("<img") });
  });

  test("a repeat is the same mail to the byte, in another process too", async () => {
    await using one = await rig();
    const sent = message([change()], { content: { chart } });
    for (let attempt = 0; attempt < 2; attempt++) {
      one.smtp.fail({ at: "afterData", drop: true });
      expect(await one.channel.send(outgoing({ message: sent, attempt }), never)).toMatchObject({
        kind: "retry",
      });
    }
    expect(await one.patient().send(outgoing({ message: sent, attempt: 2 }), never)).toMatchObject({
      kind: "delivered",
    });
    const [first, ...repeats] = one.smtp.mails.map(({ raw }) => raw);
    expect(repeats).toEqual([first, first]);
  });

  test.each<[string, Draw]>([
    ["cannot be drawn", () => Promise.reject(new Error("no build for this machine"))],
    ["is not drawn in time", () => new Promise(() => {})],
  ])("that %s: the mail leaves without, and its repeats too", async (_what, fails) => {
    let draw = fails;
    await using one = await rig({}, {}, {}, (svg, zoom) => draw(svg, zoom));
    const sent = message([change()], { content: { chart } });
    one.smtp.fail({ at: "afterData", drop: true });
    expect(await one.channel.send(outgoing({ message: sent }), never)).toMatchObject({ kind: "retry" });
    draw = pngOf;
    expect(await one.channel.send(outgoing({ message: sent, attempt: 1 }), never)).toMatchObject({
      kind: "delivered",
    });
    expect(one.smtp.mails.map(({ inline }) => inline.length)).toEqual([0, 0]);
    expect(one.smtp.mails[1]?.raw).toBe(one.smtp.mails[0]?.raw);
  });

  test("an attempt that is aborted while it is drawn stores no result", async () => {
    let draw: Draw = () => new Promise(() => {});
    await using one = await rig({}, {}, {}, (svg, zoom) => draw(svg, zoom));
    const sent = message([change()], { content: { chart } });
    const stop = new AbortController();
    const sending = one.channel.send(outgoing({ message: sent }), stop.signal);
    stop.abort(new Error("enough"));
    await expect(sending).rejects.toThrow("enough");
    draw = pngOf;
    await one.channel.send(outgoing({ message: sent, attempt: 1 }), never);
    expect(one.smtp.mails.map(({ inline }) => inline.length)).toEqual([1]);
  });
});

test("a quiet critical mail has normal importance", async () => {
  await using one = await rig();
  await one.channel.send(outgoing({ message: message([change()], { content: { quiet: true } }) }), never);
  expect(one.smtp.mails[0]?.headers.has("importance")).toBe(false);
});

test("later mails are threaded under the first mail of the alert", async () => {
  await using one = await rig();
  const first = message();
  await one.channel.send(outgoing({ message: first }), never);
  const inReplyTo = { messageId: first.id, receipt: "250 Ok", message: first };
  await one.channel.send(outgoing({ message: message([change("ended")]), inReplyTo }), never);
  const [, mail] = one.smtp.mails;
  expect(mail?.subject).toMatch(/^RESOLVED: /);
  expect(mail?.headers.get("in-reply-to")).toBe(`<${first.id}@example.org>`);
  expect(mail?.headers.get("references")).toBe(`<${first.id}@example.org>`);
  expect(mail?.headers.has("importance")).toBe(false);
});

test("mails of one alert or group refer to the same threads, whichever of them arrived", async () => {
  await using one = await rig();
  const first = message([change()], { content: { threads: ["6Hq", "9Zt"] } });
  const end = message([change("ended")], { content: { threads: ["6Hq"] } });
  await one.channel.send(outgoing({ message: first }), never);
  const inReplyTo = { messageId: first.id, receipt: "250 Ok", message: first };
  await one.channel.send(outgoing({ message: end, inReplyTo }), never);
  const [began, ended] = one.smtp.mails;
  expect(began?.headers.get("references")).toBe("<thread.6Hq@example.org> <thread.9Zt@example.org>");
  expect(began?.headers.has("in-reply-to")).toBe(false);
  expect(ended?.headers.get("references")).toBe(`<thread.6Hq@example.org> <${first.id}@example.org>`);
});

test("a mail states how to unsubscribe, and its list", async () => {
  await using one = await rig();
  await one.channel.send(outgoing(), never);
  const [mail] = one.smtp.mails;
  expect(mail?.headers.get("list-id")).toBe('"perpwatch mail" <mail.perpwatch.example.org>');
  expect(mail?.headers.get("list-unsubscribe")).toBe("<mailto:watch@example.org?subject=unsubscribe%20mail>");
});

test.each([
  ["https://example.net/leave?list=1", "<https://example.net/leave?list=1>"],
  ["Desk <desk+off@example.net>", "<mailto:desk%2Boff@example.net?subject=unsubscribe%20mail>"],
])("unsubscribing leads where it is configured: %s", async (unsubscribe, expected) => {
  await using smtp = await startSmtp({});
  const { host, port } = smtp;
  const settings = {
    type: "email",
    smtp: { host, port, secure: false },
    from: "a@b.example",
    to: ["c@d.example"],
  };
  const channel = createEmail("mail", emailSettings.parse({ ...settings, unsubscribe }), {
    log: silentLog,
    timezone: "UTC",
  });
  await channel.send(outgoing(), never);
  await channel.stop();
  expect(smtp.mails[0]?.headers.get("list-unsubscribe")).toBe(expected);
  expect(emailSettings.safeParse({ ...settings, unsubscribe: "javascript:alert(1)" }).success).toBe(false);
});

test("the HTML suits mail programs: tables, inline styles, 600 pixels, dark colours, a preview line", async () => {
  await using one = await rig();
  await one.channel.send(outgoing(), never);
  const html = one.smtp.mails[0]?.html ?? "";
  expect(html).toMatch(/<table role="presentation" class="pw-card" width="600"[^>]*max-width:600px/);
  expect(html).toContain("prefers-color-scheme:dark");
  expect(html).not.toMatch(/<div style="(?!display:none)|flex|grid|position:|<form|@import/);
  // Visible elements have inline styles: a program that drops <style> shows the same.
  for (const [element] of html.split("<body")[1]!.matchAll(/<(?:h1|h2|p|td|a)\b[^>]*>/g))
    expect(element).toContain("style=");
  const preheader = /display:none[^>]*>([^<]*)</.exec(html)?.[1] ?? "";
  expect(preheader).toMatch(/^Mark \$132\.10, liquidation \$126\.55, margin ratio 78 %\./);
});

test("fifty alerts at their longest stay below what mail programs show whole, and both parts name each", async () => {
  await using one = await rig();
  const long = (text: string) => `${text} ${"word <&> ".repeat(400)}`.slice(0, 2_000);
  const changes = Array.from({ length: 50 }, (_, at) =>
    change("fired", { id: at + 1, summary: `alert-${at + 1} ${"<x>".repeat(80)}`, description: long("why") }),
  );
  await one.channel.send(outgoing({ message: message(changes) }), never);
  const [mail] = one.smtp.mails;
  expect(Buffer.byteLength(mail?.html ?? "")).toBeLessThan(100_000);
  for (let id = 1; id <= 50; id++) {
    expect(mail?.text).toContain(`#${id}: alert-${id} `);
    expect(mail?.html).toMatch(new RegExp(`#${id}(</span>|:) alert-${id} `));
  }
  expect(mail?.text.match(/why word/g)?.length).toBe(mail?.html.match(/why word/g)?.length);
});

test("a digest is tables in HTML and lines in the text", async () => {
  await using one = await rig();
  const sections = [
    {
      title: "Equity",
      rows: [
        ["main", "$12,345 <b>"],
        ["No change.", ""],
      ] as const,
    },
  ];
  await one.channel.send(
    outgoing({ message: message([], { content: { kind: "digest", title: "Daily digest", sections } }) }),
    never,
  );
  const [mail] = one.smtp.mails;
  expect(mail?.subject).toBe("Daily digest");
  expect(mail?.text).toContain("\nEquity\nmain: $12,345 <b>\nNo change.\n");
  expect(mail?.html).toContain("$12,345 &lt;b&gt;");
  expect(mail?.html).toMatch(/<h2[^>]*>Equity<\/h2>/);
});

test("data cannot add headers, nor markup", async () => {
  await using one = await rig();
  const summary = 'a\r\nBcc: them@evil.example\r\n\r\n<script>x</script> & "q" \u001b[31m';
  await one.channel.send(
    outgoing({ message: message([change("fired", { summary, runbook: "javascript:alert(1)" })]) }),
    never,
  );
  const [mail] = one.smtp.mails;
  expect(mail?.headers.has("bcc")).toBe(false);
  expect(mail?.to).toEqual(["me@example.net", "you@example.net"]);
  expect(mail?.html).toContain("&lt;script&gt;x&lt;/script&gt; &amp; &quot;q&quot; \\u001b[31m");
  expect(mail?.html).not.toMatch(/<script|javascript:/);
  expect(mail?.text).not.toContain("\u001b");
});

test("one connection serves many mails", async () => {
  await using one = await rig();
  const results = await Promise.all([1, 2, 3, 4].map(() => one.channel.send(outgoing(), never)));
  expect(results.map(({ kind }) => kind)).toEqual(["delivered", "delivered", "delivered", "delivered"]);
  expect(one.smtp.connections).toBe(1);
});

test.each(["starttls", "tls"] as const)(
  "with %s the mail is encrypted, and the login with it",
  async (tls) => {
    const auth = { user: "watch", password: "s3cret-word" };
    await using one = await rig({ tls, auth }, auth);
    expect(await one.channel.probe(never)).toMatchObject({ kind: "ok" });
    expect(await one.channel.send(outgoing(), never)).toMatchObject({ kind: "delivered" });
    expect(one.smtp.mails).toMatchObject([{ secure: true, user: "watch" }]);
  },
);

test("starttls is demanded: a server without it gets nothing", async () => {
  await using one = await rig({}, { secure: "starttls" });
  const probed = await one.channel.probe(never);
  expect(probed).toMatchObject({ kind: "failed", fix: expect.stringContaining("STARTTLS") });
  expect(await one.channel.send(outgoing(), never)).toMatchObject({ kind: "retry", failure: "unreachable" });
  expect(one.smtp.mails).toEqual([]);
});

test("a certificate of an unknown authority is not trusted", async () => {
  await using one = await rig({ tls: "starttls" }, { ca: undefined });
  expect(await one.channel.send(outgoing(), never)).toMatchObject({ kind: "retry", failure: "unreachable" });
  expect(await one.channel.probe(never)).toMatchObject({
    kind: "failed",
    fix: expect.stringContaining("smtp.ca"),
  });
});

describe("the server's reply", () => {
  const cases: readonly [string, SmtpFault, object][] = [
    [
      "greylisting",
      { at: "rcpt", code: 451, message: "4.7.1 Greylisted", times: 9 },
      { kind: "retry", failure: "rate-limited" },
    ],
    [
      "a full disk",
      { at: "mail", code: 452, message: "4.3.1 Out of space" },
      { kind: "retry", failure: "server-error" },
    ],
    [
      "going down",
      { at: "data", code: 421, message: "4.3.2 Shutting down" },
      { kind: "retry", failure: "server-error" },
    ],
    ["a login that fails for now", { at: "auth", code: 454, message: "4.7.0 Later" }, { kind: "retry" }],
    [
      "a wrong password",
      { at: "auth", code: 535 },
      { kind: "refused", failure: "authentication", channelBroken: true },
    ],
    [
      "a login that is wanted",
      { at: "mail", code: 530 },
      { kind: "refused", failure: "authentication", channelBroken: true },
    ],
    [
      "a sender it will not have",
      { at: "mail", code: 550 },
      { kind: "refused", failure: "rejected", channelBroken: true },
    ],
    [
      "recipients that are unknown",
      { at: "rcpt", code: 550, times: 9 },
      { kind: "refused", failure: "rejected", channelBroken: true },
    ],
    [
      "a text it will not have",
      { at: "data", code: 554 },
      { kind: "refused", failure: "rejected", channelBroken: false },
    ],
    ["no welcome", { at: "connect", code: 554 }, { kind: "retry", failure: "server-error" }],
    [
      "a line cut at the greeting",
      { at: "connect", drop: true, times: 9 },
      { kind: "retry", failure: "unreachable" },
    ],
    [
      "a line cut within the mail",
      { at: "data", drop: true, times: 9 },
      { kind: "retry", failure: "unreachable" },
    ],
  ];
  test.each(cases)("%s", async (_what, fault, expected) => {
    const auth = { user: "watch", password: "s3cret-word" };
    await using one = await rig({ auth }, auth);
    one.smtp.fail(fault);
    expect(await one.channel.send(outgoing(), never)).toMatchObject(expected);
    expect(one.smtp.mails).toEqual([]);
  });

  test("is not retried by the library when it hangs up at once", async () => {
    await using one = await rig();
    one.smtp.fail({ at: "connect", drop: true, times: 9 });
    await one.channel.send(outgoing(), never);
    expect(one.smtp.connections).toBeLessThanOrEqual(2);
  });

  test("is requested once: the library does not retry", async () => {
    await using one = await rig();
    const cut = one.smtp.fail({ at: "data", drop: true, times: 5 });
    await one.channel.send(outgoing(), never);
    expect(cut.left()).toBe(4);
    one.smtp.clearFaults();
    expect(await one.channel.send(outgoing(), never)).toMatchObject({ kind: "delivered" });
  });

  test("refuses one of two recipients: delivered, and the receipt names the one", async () => {
    await using one = await rig();
    one.smtp.fail({ at: "rcpt", code: 550, recipient: "you@example.net" });
    const result = await one.channel.send(outgoing(), never);
    expect(result).toMatchObject({
      kind: "delivered",
      receipt: expect.stringContaining("refused: you@example.net"),
    });
    expect(one.smtp.mails[0]?.to).toEqual(["me@example.net"]);
  });
});

describe("a silent server", () => {
  test("at the greeting", async () => {
    await using one = await rig({}, {}, { greetingMs: 80 });
    one.smtp.fail({ at: "connect", hang: true, times: 2 });
    expect(await one.channel.send(outgoing(), never)).toMatchObject({ kind: "retry", failure: "timeout" });
  });

  test("after the final dot: the repeat has the same Message-ID", async () => {
    await using one = await rig({}, {}, { silenceMs: 150 });
    const sent = message();
    const hang = one.smtp.fail({ at: "data", hang: true });
    // On a busy machine the server may seem silent before the final dot.
    while (hang.left() > 0) {
      expect(await one.channel.send(outgoing({ message: sent }), never)).toEqual({
        kind: "retry",
        failure: "timeout",
        // The silence limit ended it, not the deadline of the attempt.
        detail: expect.not.stringContaining("within"),
        afterMs: null,
      });
    }
    await one.smtp.waitForNobody();
    const patient = one.patient();
    one.smtp.fail({ at: "afterData", drop: true });
    expect(await patient.send(outgoing({ message: sent, attempt: 1 }), never)).toMatchObject({
      kind: "retry",
    });
    expect(await patient.send(outgoing({ message: sent, attempt: 2 }), never)).toMatchObject({
      kind: "delivered",
    });
    expect(one.smtp.mails.map(({ messageId }) => messageId)).toEqual(
      Array(2).fill(`<${sent.id}@example.org>`),
    );
  });

  test("or sends without end: the attempt has a total deadline, and its connection is closed", async () => {
    const sockets = new Set<Socket>();
    const closed = Promise.withResolvers<void>();
    const server = createServer((socket) => {
      sockets.add(socket);
      const drip = setInterval(() => socket.write("220-still thinking\r\n"), 20);
      socket.on("error", () => {});
      socket.on("close", () => {
        clearInterval(drip);
        closed.resolve();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    await using one = await rig({}, { port }, { deadlineMs: 300 });
    expect(await one.channel.send(outgoing(), never)).toMatchObject({ kind: "retry", failure: "timeout" });
    await closed.promise;
    server.close();
  });

  test("an aborted attempt leaves no connection, and does not affect the next one", async () => {
    await using one = await rig();
    const hang = one.smtp.fail({ at: "data", hang: true });
    const stop = new AbortController();
    const sending = one.channel.send(outgoing(), stop.signal);
    void hang.used.then(() => stop.abort(new Error("enough")));
    await expect(sending).rejects.toThrow("enough");
    await one.smtp.waitForNobody();
    expect(await one.channel.send(outgoing(), never)).toMatchObject({ kind: "delivered" });
  });
});
