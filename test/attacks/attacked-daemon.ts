/**
 * A daemon whose services answer with malice, and what holds all the while: polls go on, another channel delivers, memory and log stay
 * bounded, nobody acts who may not, no secret is shown, and no address elsewhere is called.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFailed } from "vitest";
import { type Simulator, startSimulator } from "../../src/simulator/index.ts";
import { desk } from "../cli/run.ts";
import { webhookDialect } from "../support/dialects.ts";
import { startProgram } from "../support/program.ts";
import { type Service, startService } from "../support/service.ts";
import { Watched } from "../support/wait.ts";
import { ask, longestGap, memoryMb, pause, polls } from "./asking.ts";
import { isWhole, report } from "./measure.ts";
import { SecretFinder } from "./secret-finder.ts";

export const attackMs = isWhole ? 15_000 : 3_000;
/** The longest time between two polls of a schedule of one second, ms. */
const longestMs = 3_000;
const maxMb = 400;
/** The log of an attack. */
const maxLines = 200;
const maxLogged = 200_000;
/** Requests and connections that an attack brings forth. */
const maxAsked = 150;
const maxConnections = 12;
/** Bytes that a flood gets rid of, with what lies in buffers on the way. */
const maxSent = 40_000_000;

export interface Attack {
  readonly name: string;
  readonly orders: object;
  /** Lines below `channels:`, by the port of the program. */
  readonly channels: (port: string) => readonly string[];
  /** Channels by which a test is sent meanwhile. */
  readonly tried: readonly string[];
  /** The attack begins with a WebSocket. */
  readonly connects: boolean;
  /** The program prints `sent BYTES` at the end of each connection. */
  readonly floods?: boolean;
  /** Requests are answers to presses: one for each. */
  readonly presses?: boolean;
}

export class HostileSurroundings implements AsyncDisposable {
  readonly finder = new SecretFinder();
  readonly #said = new Watched<string>();
  readonly #simulator: Simulator;
  readonly #server: ChildProcess;
  readonly #far: Service;
  #port = "";
  #orders = 0;

  private constructor(simulator: Simulator, server: ChildProcess, far: Service) {
    this.#simulator = simulator;
    this.#server = server;
    this.#far = far;
    createInterface({ input: server.stdout! }).on("line", (line) => this.#said.add(line));
  }

  /** @param program beside this file */
  static async start(program: string): Promise<HostileSurroundings> {
    const simulator = await startSimulator({ port: 0, traders: 1, walk: true });
    const far = await startService(webhookDialect("a-secret-of-24-characters"));
    const file = fileURLToPath(new URL(program, import.meta.url));
    const server = spawn(process.execPath, [file], { stdio: ["pipe", "pipe", "inherit"] });
    const made = new HostileSurroundings(simulator, server, far);
    made.#port = (await made.#said.waitFor((line) => line.startsWith("port "), 30_000)).split(" ")[1]!;
    return made;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.kill("SIGKILL");
    await this.#far[Symbol.asyncDispose]();
    await this.#simulator.stop();
  }

  async #order(orders: object): Promise<void> {
    const before = this.#orders++;
    const said = this.#said;
    this.#server.stdin!.write(`${JSON.stringify(orders)}\n`);
    await said.waitFor(
      (line) => line === "ready" && said.items.filter((one) => one === "ready").length > before,
      10_000,
    );
  }

  #configuration(channels: readonly string[]): string {
    const simulator = this.#simulator;
    return [
      `exchange: { baseUrl: "${simulator.url}", requestsPerSecond: 100 }`,
      `wallets: [{ name: main, authority: ${simulator.traders[0]!.authority} }]`,
      "channels:",
      ...channels.map((line) => `  ${line}`),
      `  far: { type: webhook, url: "${this.#far.url}/in", secret: a-secret-of-24-characters }`,
      "schedules: { traderState: { every: 1s, atRisk: 1s }, markets: { every: 1s } }",
      "history: { path: ./p }",
      "dashboard: { listen: off }",
      "",
    ].join("\n");
  }

  async attack(attack: Attack): Promise<void> {
    const { name, orders, channels, tried, connects, presses = false, floods = false } = attack;
    const [simulator, said] = [this.#simulator, this.#said];
    using place = desk();
    place.write("config.yaml", this.#configuration(channels(this.#port)));
    await this.#order(orders);
    const before = said.items.length;
    const counted = (start: string) =>
      said.items.slice(before).filter((line) => line.startsWith(start)).length;
    await using daemon = startProgram(["start"], { folder: place.folder });
    onTestFailed(() => console.log(daemon.stderr.slice(-30).join("\n")));
    await daemon.line((line) => line.includes("watching "), 60_000);
    if (connects)
      await said.waitFor((line) => said.items.indexOf(line, before) >= 0 && line === "connected", 30_000);
    simulator.requests.clear();
    const fromMs = simulator.nowMs();
    let peakMb = 0;
    const tests = tried.map((one) => ask(place.folder, `/api/v1/channels/${one}/test`, {}));
    const endMs = performance.now() + attackMs;
    do {
      peakMb = Math.max(peakMb, await memoryMb(place.folder));
      await pause(250);
    } while (performance.now() < endMs);
    // The other channel delivers meanwhile.
    expect(JSON.parse(await ask(place.folder, "/api/v1/channels/far/test", {}))).toMatchObject({
      kind: "delivered",
    });
    const answers = await Promise.all(tests);
    const toMs = simulator.nowMs();
    const gap = longestGap(simulator, 0, fromMs, toMs);
    const tries = polls(simulator, 0).length;
    report({ attack: name, polls: tries, longestMs: gap, peakMb });
    expect(gap).toBeLessThan(longestMs);
    expect(peakMb).toBeLessThan(maxMb);
    expect(JSON.parse(await ask(place.folder, "/api/v1/status"))).toMatchObject({ state: "running" });
    // Nothing was silenced: not by people who may not, and not by a button of a message that does not exist.
    expect(JSON.parse(await ask(place.folder, "/api/v1/silences"))).toMatchObject({ silences: [] });
    expect(counted("trap")).toBe(0);
    expect(counted("connected"), "connections").toBeLessThanOrEqual(maxConnections);
    if (!presses) expect(counted("asked"), "requests").toBeLessThan(maxAsked);
    const status = await ask(place.folder, "/api/v1/status");
    expect(await daemon.end("SIGTERM")).toEqual({ status: 0, signal: null });
    if (floods) {
      const sent = () => said.items.slice(before).flatMap((line) => /^sent (\d+)/.exec(line)?.[1] ?? []);
      await said.waitFor(() => sent().length >= counted("connected"), 10_000);
      const bytes = sent().reduce((sum, one) => sum + Number(one), 0);
      expect(bytes, "bytes that were read").toBeLessThan(maxSent);
    }
    const log = daemon.stderr.join("\n");
    expect(daemon.stderr.filter((line) => /"level":"fatal"|fault of its own/.test(line))).toEqual([]);
    expect(daemon.stderr.length, "lines of the log").toBeLessThan(maxLines);
    expect(log.length, "characters of the log").toBeLessThan(maxLogged);
    expect(this.finder.leaks([log, daemon.stdout.join("\n"), status, ...answers].join("\n"))).toEqual([]);
  }
}
