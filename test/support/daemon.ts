/**
 * The whole daemon in this process, on a clock that the test moves: a simulated exchange, Discord and a mail server on
 * real sockets, a database on disk, the rules that ship. Only time is not real.
 *
 *   await using house = await openHouse();
 *   await house.hold({ collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" });
 *   await house.start();
 *   await house.bring("SOL", 0.03);                          // the mark price, 3 % above liquidation
 *   await house.clock.advance(2_000);
 *   expect(house.told()).toEqual([...]);
 *
 * Time stands still while a message is being sent (mail goes over sockets that the clock does not see) and while a request
 * is under way, unless a fault of the simulator holds it on purpose.
 */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pino } from "pino";
import { type Daemon, startDaemon } from "../../src/daemon/app.ts";
import type { DaemonDeps } from "../../src/daemon/deps.ts";
import { type DaemonSettings, settingsFromText } from "../../src/daemon/settings.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import { type History, openStore } from "../../src/history/index.ts";
import { localKeys } from "../../src/signer/keys.ts";
import { LoginForms, memoryForms } from "../../src/signer/login-forms.ts";
import { type SimulatedTrader, type Simulator, startSimulator } from "../../src/simulator/index.ts";
import type { SimulatorOptions } from "../../src/simulator/simulator.ts";
import { askDaemon } from "../../src/web/index.ts";
import { FakeClock } from "./clock.ts";
import { type DiscordMessage, type LocalDiscord, startDiscord } from "./discord.ts";
import { type LocalSmtp, startSmtp } from "./smtp.ts";

/** Sections of config.yaml; what is given replaces the house's own section of that name. */
export type Sections = Readonly<Record<string, unknown>>;

export interface LogLine {
  readonly level: "debug" | "info" | "warn" | "error" | "fatal";
  readonly msg: string;
  /** Simulated, ms. */
  readonly atMs: number;
  readonly [field: string]: unknown;
}

export interface HouseOptions {
  readonly simulator?: SimulatorOptions;
  /** Wallets, each with a key, and with nothing in their accounts. Default: `main` alone. */
  readonly wallets?: readonly string[];
  /** The folder of the database. Default: a folder of the house's own. */
  readonly databaseFolder?: string;
  /** The signer holds the exchange's time against the machine's clock, as it does for an exchange that is not simulated. */
  readonly signerHasClock?: boolean;
}

export interface Holding {
  readonly trader?: string;
  readonly collateral: string;
  readonly symbol: string;
  readonly size: string;
  readonly entryPrice: string;
  readonly subaccountIndex?: number;
}

export interface Run {
  readonly daemon: Daemon;
  /** Ends it in order, as SIGTERM does. */
  stop(): Promise<void>;
}

type Truth = Awaited<ReturnType<House["truth"]>>;

const levels: Readonly<Record<number, LogLine["level"]>> = {
  20: "debug",
  30: "info",
  40: "warn",
  50: "error",
  60: "fatal",
};

/** Marks that stand still and are asked for often, so that stories are short. */
const stillPrices = [
  ["SOL", "150"],
  ["BTC", "100000"],
  ["ETH", "3000"],
] as const;

export async function openHouse(options: HouseOptions = {}): Promise<House> {
  const clock = new FakeClock("2026-03-01T12:00:00.000Z", { stuckAfterMs: 60_000 });
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "perpwatch-e2e-"));
  const simulator = await startSimulator({
    clock,
    walk: false,
    seed: 3,
    traders: 0,
    keysDir: path.join(folder, "keys"),
    ...options.simulator,
  });
  const discord = await startDiscord({ now: () => clock.nowMs() });
  const smtp = await startSmtp();
  for (const [symbol, price] of stillPrices) await simulator.call("mark-price", { symbol, price });
  for (const name of options.wallets ?? ["main"]) await simulator.call("trader", { name });
  return new House({
    clock,
    folder,
    simulator,
    discord,
    smtp,
    databaseFolder: options.databaseFolder ?? folder,
    signerHasClock: options.signerHasClock ?? false,
  });
}

interface HouseParts {
  readonly clock: FakeClock;
  readonly folder: string;
  readonly databaseFolder: string;
  readonly signerHasClock: boolean;
  readonly simulator: Simulator;
  readonly discord: LocalDiscord;
  readonly smtp: LocalSmtp;
}

export class House implements AsyncDisposable {
  /** The forms of login that its wallets trust, as the file of a signer has them. */
  readonly loginForms = memoryForms();
  readonly clock: FakeClock;
  readonly simulator: Simulator;
  readonly discord: LocalDiscord;
  readonly smtp: LocalSmtp;
  readonly folder: string;
  readonly databasePath: string;
  readonly log: LogLine[] = [];
  /** The reason why nothing can be signed, as a signer tells it; wallets of the keystore have no key here anyway. */
  signerTrouble = "";
  readonly #runs = new Set<Run>();
  readonly #signerHasClock: boolean;
  #seed = 1;
  #broken: unknown;

  constructor(parts: HouseParts) {
    this.clock = parts.clock;
    this.simulator = parts.simulator;
    this.discord = parts.discord;
    this.smtp = parts.smtp;
    this.folder = parts.folder;
    this.databasePath = path.join(parts.databaseFolder, "perpwatch.db");
    this.#signerHasClock = parts.signerHasClock;
    this.clock.allow(() => this.simulator.held());
  }

  trader(name = "main"): SimulatedTrader {
    const found = this.simulator.traders.find((one) => one.name === name);
    if (!found) throw new Error(`no trader ${name}`);
    return found;
  }

  /**
   * The configuration's sections: bot and mail get everything; seconds between polls of what matters. No stream, whose
   * frames arrive in real time, which this clock does not wait for; stories of the stream say so themselves.
   */
  sections(): Record<string, unknown> {
    return {
      exchange: { baseUrl: this.simulator.url, requestsPerSecond: 200, streams: "off" },
      wallets: this.simulator.traders.map(({ name, keyFile }) => ({ name, keyFile })),
      schedules: {
        ...every("1s", ["traderState", "markets", "notifications"]),
        ...every("5s", ["liquidations", "exchangeStatus"]),
        ...every("10s", [
          "collateral",
          "traderView",
          "orders",
          "fills",
          "funding",
          "fundingRates",
          "marketConfig",
        ]),
      },
      history: { path: this.databasePath },
      channels: { chat: this.chat(), mail: this.mail() },
      dashboard: { listen: "off" },
    };
  }

  chat(): Record<string, unknown> {
    const { token, channelId, apiUrl } = this.discord;
    return { type: "discord", token, channelId, apiUrl };
  }

  mail(): Record<string, unknown> {
    const { host, port } = this.smtp;
    return {
      type: "email",
      smtp: { host, port, secure: false },
      from: "watch@example.org",
      to: ["me@example.org"],
    };
  }

  settings(changes: Sections = {}): DaemonSettings {
    // JSON is YAML.
    const text = JSON.stringify({ ...this.sections(), ...changes });
    const forms = new LoginForms({ store: this.loginForms, baseUrl: this.simulator.url, domain: null });
    const keys = localKeys({ forms, nowMs: this.#signerHasClock ? () => this.clock.nowMs() : null });
    const read = settingsFromText(text, { file: null, folder: this.folder, env: {}, keys });
    if ("problems" in read)
      throw new Error(read.problems.map(({ path: at, message }) => `${at}: ${message}`).join("\n"));
    return read.settings;
  }

  /** Starts the daemon; a rejection is the daemon's own. */
  async start(
    changes: Sections = {},
    probe?: DaemonDeps["probe"],
    outside: DaemonDeps["outside"] = {},
  ): Promise<Run> {
    const { clock } = this;
    const trouble = () => this.signerTrouble;
    const write = (line: string) => {
      const { level, time: _time, pid: _pid, hostname: _host, ...rest } = JSON.parse(line);
      this.log.push({ ...rest, level: levels[level] ?? "info", atMs: clock.nowMs() });
    };
    let attempts = 0;
    const daemon = await clock.finish(
      startDaemon(this.settings(changes), {
        log: pino({ level: "info" }, { write }),
        clock,
        random: seededRandom(this.#seed++),
        probe: (step) => {
          if (step === "before-send") attempts++;
          return probe?.(step);
        },
        signer: {
          get trouble() {
            return trouble();
          },
        },
        outside,
      }),
    );
    await settled(daemon);
    let ended = 0;
    let looks = 0;
    const unwatch = clock.watch(() => {
      // A status costs far more than a look at the clock.
      if (attempts > ended && looks++ % 20 === 0) {
        ended = 0;
        for (const { delivered, failures } of daemon.status().channels)
          ended += delivered + Object.values(failures).reduce((sum, count) => sum + count, 0);
      }
      return attempts > ended;
    });
    daemon.broken.catch((error: unknown) => {
      this.#broken ??= error;
    });
    let stopped: Promise<void> | undefined;
    const run: Run = {
      daemon,
      stop: () => {
        this.#runs.delete(run);
        stopped ??= Promise.resolve().then(() => {
          unwatch();
          return this.#ended(daemon.stop());
        });
        return stopped;
      },
    };
    this.#runs.add(run);
    return run;
  }

  /** Ending waits for sockets, which this clock does not see, and for time. */
  async #ended(promise: Promise<void>): Promise<void> {
    let open = true;
    const done = promise.finally(() => {
      open = false;
    });
    for (;;) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const pause = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, 50);
      });
      await Promise.race([done, pause]);
      clearTimeout(timer);
      if (!open) break;
      await this.clock.advanceToNext();
    }
    await done;
  }

  // ── the world ───────────────────────────────────────────────────────────────────────────────────────────────────

  call(name: string, body: unknown = {}): Promise<unknown> {
    return this.simulator.call(name, body);
  }

  /** An account with one position. */
  async hold({ collateral, ...position }: Holding): Promise<void> {
    const { trader = "main", subaccountIndex = 0 } = position;
    await this.call("collateral", { trader, subaccountIndex, amount: collateral });
    await this.call("position", { trader, ...position });
  }

  /** Moves the mark price until a position is this share of it away from its liquidation price. */
  async bring(symbol: string, distance: number, trader = "main"): Promise<void> {
    const position = (await this.truth(trader)).accounts
      .flatMap(({ positions }) => positions)
      .find((one) => one.symbol === symbol);
    if (!position?.liquidationPrice) throw new Error(`${trader} has no liquidation price in ${symbol}`);
    const liquidation = Number(position.liquidationPrice);
    const price = liquidation / (Number(position.size) > 0 ? 1 - distance : 1 + distance);
    await this.call("mark-price", { symbol, price: price.toFixed(4) });
  }

  async truth(trader = "main") {
    const { authority } = this.trader(trader);
    const response = await fetch(`${this.simulator.url}/sim/state?authority=${authority}`);
    return (await response.json()) as {
      readonly accounts: readonly {
        readonly subaccountIndex: number;
        readonly riskTier: string | null;
        readonly positions: readonly {
          readonly symbol: string;
          readonly size: string;
          readonly liquidationPrice: string | null;
        }[];
      }[];
      readonly notifications: readonly {
        readonly ackedMs: number | null;
        readonly notificationType: string;
        readonly createdAt: number;
      }[];
    };
  }

  /** Types of the exchange's notifications of a wallet, those that it holds as acknowledged and the others. */
  async inbox(trader = "main"): Promise<{ readonly acked: string[]; readonly open: string[] }> {
    const { notifications }: Truth = await this.truth(trader);
    const types = (acked: boolean) =>
      notifications.filter((one) => (one.ackedMs !== null) === acked).map((one) => one.notificationType);
    return { acked: types(true), open: types(false) };
  }

  // ── what came of it ─────────────────────────────────────────────────────────────────────────────────────────────

  /** Messages on Discord, oldest first, that are about a rule: those whose text fits. */
  chats(fits: RegExp = /./): readonly DiscordMessage[] {
    return this.discord.messages.filter(({ text }) => fits.test(text));
  }

  /** First lines of the messages on Discord, as they now stand. */
  headlines(): readonly string[] {
    return this.discord.messages.map(({ embeds, content }) => embeds[0]?.title ?? content);
  }

  subjects(): readonly string[] {
    return this.smtp.mails.map(({ subject }) => subject);
  }

  /**
   * Messages of log lines at `warn` and above, from an index on. How channels fare has lines of its own: they have limits
   * in real time, which a busy machine may exceed.
   */
  warnings(from = 0): readonly string[] {
    return this.log
      .slice(from)
      .filter(({ level }) => level === "warn" || level === "error" || level === "fatal")
      .filter((line) => line.channel === undefined && !line.msg.includes("Discord gateway"))
      .map(({ msg }) => msg);
  }

  /** Asks the running daemon over its socket. */
  async ask(method: "GET" | "POST", at: string, body?: unknown): Promise<unknown> {
    const answer = await askDaemon({ socketPath: `${this.databasePath}.sock`, method, path: at, body });
    if (answer.kind !== "answered") throw new Error("no daemon answers");
    if (answer.status !== 200) throw new Error(`${at}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** Looks into the database beside the running daemon. */
  async read<T>(look: (store: History) => Promise<T>): Promise<T> {
    const store = openStore({ path: this.databasePath, readonly: true });
    try {
      return await look(store);
    } finally {
      await store.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const run of [...this.#runs]) await run.stop();
    await this.simulator.stop();
    await this.discord.close();
    await this.smtp.close();
    fs.rmSync(this.folder, { recursive: true, force: true });
    // A daemon that broke is no story of a daemon, whatever the test looked at.
    if (this.#broken !== undefined) throw this.#broken;
  }
}

/** Channels open in the background, over sockets that no clock counts: waits for their first word, not for long. */
async function settled(daemon: Daemon): Promise<void> {
  const startMs = performance.now();
  const open = () => daemon.status().channels.some(({ detail }) => detail === "not used yet");
  while (open() && performance.now() - startMs < 2_000) await new Promise((next) => setTimeout(next, 2));
}

/** `schedules:` of these sources. */
export function every(
  interval: string,
  sources: readonly string[],
): Record<string, { readonly every: string }> {
  return Object.fromEntries(sources.map((source) => [source, { every: interval }]));
}
