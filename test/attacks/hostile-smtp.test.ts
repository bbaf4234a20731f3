/**
 * A daemon whose mail server fails slowly or without end: polls go on, another channel delivers, memory and log stay bounded, no secret is
 * shown, and the message is delivered once the server is well again.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from "vitest";
import { type Simulator, startSimulator } from "../../src/simulator/index.ts";
import { desk } from "../cli/run.ts";
import { webhookDialect } from "../support/dialects.ts";
import { startProgram } from "../support/program.ts";
import { type Service, startService } from "../support/service.ts";
import { type LocalSmtp, startSmtp } from "../support/smtp.ts";
import { Watched } from "../support/wait.ts";
import { ask, longestGap, memoryMb, pause, polls } from "./asking.ts";
import { type MailOfMalice, mailsOfMalice } from "./hostile-smtp.ts";
import { isWhole, report } from "./measure.ts";
import { canary, SecretFinder } from "./secret-finder.ts";

const attackMs = isWhole ? 30_000 : 3_000;
/** The longest time between two polls of a schedule of one second, ms. */
const longestMs = 3_000;
const maxMb = 400;
const maxLines = 200;
const maxLogged = 200_000;
const maxConnections = 20;
const program = fileURLToPath(new URL("hostile-smtp.ts", import.meta.url));

/** The sample: one of each place at which it can fail. */
const sample: ReadonlySet<MailOfMalice> = new Set([
  ...(["silent after the connection", "endless line", "garbage after STARTTLS"] as const),
  "a megabyte without a line end",
]);

const finder = new SecretFinder();
const password = canary(32);
finder.add("SMTP password", password);
finder.add("AUTH PLAIN", Buffer.from(`\0watch\0${password}`).toString("base64"));

let simulator: Simulator;
let smtp: LocalSmtp;
let far: Service;
let server: ChildProcess;
let port = "";
const said = new Watched<string>();

beforeAll(async () => {
  simulator = await startSimulator({ port: 0, traders: 1, walk: true });
  far = await startService(webhookDialect("a-secret-of-24-characters"));
  smtp = await startSmtp({ tls: "starttls", auth: { user: "watch", password } });
  server = spawn(process.execPath, [program, String(smtp.port)], { stdio: ["pipe", "pipe", "inherit"] });
  createInterface({ input: server.stdout! }).on("line", (line) => said.add(line));
  port = (await said.waitFor((line) => line.startsWith("port "), 30_000)).split(" ")[1]!;
}, 60_000);

afterAll(async () => {
  server?.kill("SIGKILL");
  await smtp?.[Symbol.asyncDispose]();
  await far?.[Symbol.asyncDispose]();
  await simulator?.stop();
});

let orders = 0;
async function order(kind: string): Promise<void> {
  const before = orders++;
  server.stdin!.write(`${kind}\n`);
  const isReady = () => said.items.filter((one) => one === "ready").length > before;
  await said.waitFor((line) => line === "ready" && isReady(), 10_000);
}

const connections = () => said.items.filter((line) => line === "connected").length;

describe(`for ${attackMs / 1_000} s: a mail server`, () => {
  const chosen = mailsOfMalice.filter((one) => isWhole || sample.has(one));
  test.each(chosen)("%s", { timeout: attackMs + 180_000 }, async (kind) => {
    using place = desk();
    place.write(
      "config.yaml",
      [
        `exchange: { baseUrl: "${simulator.url}", requestsPerSecond: 100 }`,
        `wallets: [{ name: main, authority: ${simulator.traders[0]!.authority} }]`,
        "channels:",
        `  mail: { type: email, smtp: { host: 127.0.0.1, port: ${port}, user: watch, password: ${password}, ca: ${JSON.stringify(smtp.ca)} }, from: w@example.org, to: [me@example.net] }`,
        `  far: { type: webhook, url: "${far.url}/in", secret: a-secret-of-24-characters }`,
        "schedules: { traderState: { every: 1s, atRisk: 1s }, markets: { every: 1s } }",
        "history: { path: ./p }",
        "dashboard: { listen: off }",
        "",
      ].join("\n"),
    );
    await order(kind);
    await using daemon = startProgram(["start"], { folder: place.folder });
    onTestFailed(() => console.log(daemon.stderr.slice(-30).join("\n")));
    await daemon.line((line) => line.includes("watching "), 60_000);
    const [before, mails] = [connections(), smtp.mails.length];
    simulator.requests.clear();
    const fromMs = simulator.nowMs();
    const drill = await ask(place.folder, "/api/v1/drill", { channels: ["mail"], by: "ann" });
    expect(JSON.parse(drill)).toMatchObject({ channels: ["mail"] });
    const tried = ask(place.folder, "/api/v1/channels/mail/test", {});
    await said.waitFor(() => connections() > before, 30_000);
    let peakMb = 0;
    const endMs = performance.now() + attackMs;
    do {
      peakMb = Math.max(peakMb, await memoryMb(place.folder));
      await pause(250);
    } while (performance.now() < endMs);
    // The other channel delivers meanwhile.
    const delivered = await ask(place.folder, "/api/v1/channels/far/test", {});
    expect(JSON.parse(delivered)).toMatchObject({ kind: "delivered" });
    const answer = await tried;
    expect(JSON.parse(answer)).toMatchObject({ kind: "retry" });
    const gap = longestGap(simulator, 0, fromMs, simulator.nowMs());
    report({ attack: `hostile mail: ${kind}`, polls: polls(simulator, 0).length, longestMs: gap, peakMb });
    expect(gap).toBeLessThan(longestMs);
    expect(peakMb).toBeLessThan(maxMb);
    expect(connections() - before, "connections").toBeLessThanOrEqual(maxConnections);
    expect(smtp.mails).toHaveLength(mails);

    await order("well");
    const mail = await smtp.waitForMail((one) => smtp.mails.indexOf(one) >= mails, 120_000);
    expect([mail.secure, mail.user]).toEqual([true, "watch"]);
    expect(mail.subject).toMatch(/drill/i);
    const status = await ask(place.folder, "/api/v1/status");
    expect(await daemon.end("SIGTERM")).toEqual({ status: 0, signal: null });
    const log = daemon.stderr.join("\n");
    expect(daemon.stderr.filter((line) => /"level":"fatal"|fault of its own/.test(line))).toEqual([]);
    expect(daemon.stderr.length, "lines of the log").toBeLessThan(maxLines);
    expect(log.length, "characters of the log").toBeLessThan(maxLogged);
    expect(finder.leaks([log, daemon.stdout.join("\n"), status, answer, drill].join("\n"))).toEqual([]);
  });
});
