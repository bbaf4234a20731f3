/**
 * `perpwatch start`: runs the daemon in the foreground until it is stopped.
 *
 *   SIGTERM, SIGINT   stop cleanly, within 10 s; a second one ends at once
 *   its launcher ends stop cleanly
 *   SIGHUP            reload the configuration; when the terminal was closed: continue
 */
import { existsSync } from "node:fs";
import { constants } from "node:os";
import type { Command } from "commander";
import type { Logger } from "pino";
import type { ConfigProblem, ConfigWarning } from "../../config/index.ts";
import type { Daemon } from "../../daemon/app.ts";
import type { DaemonSettings } from "../../daemon/settings.ts";
import { type Cli, CommandFailed, type CommonOptions, declare, namedConfig } from "../command.ts";
import { type Loaded, misconfigured } from "../configuration.ts";
import type { Signing } from "../signing/signing.ts";
import { commandLineOf } from "../terminal/command-line.ts";
import { isTerminalClosed } from "../terminal/terminal.ts";
import { oneOf } from "../terminal/values.ts";
import { reportCrashTo } from "./crash.ts";
import { onLauncherEnd } from "./launcher.ts";
import { type LogOptions, logFormats, logLevels } from "./log-options.ts";
import { examine } from "./machine-checks.ts";
import { showPageLink } from "./page-link.ts";

interface StartOptions extends CommonOptions {
  readonly logLevel: LogOptions["level"];
  readonly logFormat: LogOptions["format"];
}

/** Maximum wait of a start for a signer that starts at the same time. */
const signerPatienceMs = 5_000;
/** The part of the 10 s for stopping; the rest is for the end of the process. */
const stopWithinMs = 9_500;

export function startCommand(program: Command, cli: Cli): void {
  declare(program, {
    usage: "start",
    summary: "run the daemon in the foreground",
    about:
      "Without a config.yaml it runs a demonstration: a simulated exchange, demo wallets, alerts in this terminal.\n" +
      "SIGTERM and SIGINT stop it cleanly within 10 s, a second one ends it at once; SIGHUP reads the configuration\n" +
      "again and takes rules, routing, reminders, acknowledging, and the certificate and password of the page; what else\n" +
      "changed is named and waits for a restart.\n" +
      "Where launch.mjs runs it as a second process, it stops cleanly when the launcher ends.\n" +
      "When its terminal is closed it goes on, without the console channels; the demonstration ends.\n" +
      "The log goes to standard error, console channels to standard output: text on a terminal or with --log-format\n" +
      "pretty, else a JSON line for each message (level, time, msg, channel, message, severity, alerts).",
    examples: ["start", "start --config /etc/perpwatch/config.yaml --log-format json"],
  })
    .option("--log-level <level>", `from ${logLevels.join(", ")}`, oneOf(logLevels), "info")
    .option(
      "--log-format <format>",
      "auto (pretty on a terminal, else JSON), pretty, json",
      oneOf(logFormats),
      "auto",
    )
    .action(async (options: StartOptions, command: Command) => {
      cli.status = await start(cli, options, namedConfig(command));
    });
}

async function start(cli: Cli, options: StartOptions, named: boolean): Promise<number> {
  const isDemo = !named && !existsSync(options.config);
  const { openSigning } = await import("../signing/signing.ts");
  let onTrouble: (trouble: string) => void = () => {};
  let onLine = (line: string, _isWarning: boolean): void => void cli.err.write(`perpwatch ${line}\n`);
  const signing = isDemo
    ? null
    : await openSigning(cli, options.config, {
        loginsOnly: true,
        patienceMs: signerPatienceMs,
        onTrouble: (trouble) => onTrouble(trouble),
        onLine: (line, isWarning) => onLine(line, isWarning),
      });
  try {
    return await startWith(cli, options, named, signing, (log, onOver) => {
      onLine = (line, isWarning) => (isWarning ? log.warn(line) : log.info(line));
      onTrouble = (trouble) => {
        if (trouble === "") {
          log.info("the signer answers");
          onOver();
        } else log.warn(`sign-ins fail: ${trouble}`);
      };
    });
  } finally {
    signing?.close();
  }
}

/**
 * @param signing null: the demo, which holds its keys itself
 * @param tellIn called with the log for the signer's lines, and a function to call when signing works again
 */
async function startWith(
  cli: Cli,
  options: StartOptions,
  named: boolean,
  signing: Signing | null,
  useLog: (log: Logger, onOver: () => void) => void,
): Promise<number> {
  // All mistakes are reported before anything is started.
  const loaded = signing === null ? null : await signing.look({ pageMayBeOff: true });
  if (loaded !== null) await checkMachine(loaded);
  // A signer that does not answer loads it at its own start.
  if (signing?.isReached === true) await signing.loadSigner();
  const { createLog, isPrettyLog } = await import("./log.ts");
  const format = options.json === true ? "json" : options.logFormat;
  const { log, flush } = await createLog(cli, { level: options.logLevel, format });
  const restoreCrashReport = reportCrashTo((text) => {
    log.fatal(text);
    flush();
  });
  const commandLine = commandLineOf(cli, named ? options.config : null);
  const stop = new AbortController();
  let running: Running | null = null;
  useLog(log, () => (running as Running | null)?.daemon.signInAgain());
  const release = onSignals(log, flush, stop, (isClosing) => {
    if (isClosing && loaded === null) stop.abort(new Error("the terminal was closed"));
    else if (isClosing) log.warn("SIGHUP: the terminal was closed; the daemon goes on, SIGTERM stops it");
    else if (loaded === null) log.warn("SIGHUP: the demonstration has no configuration to read again");
    else if (running === null) log.warn("SIGHUP: not started yet; nothing was read again");
    else void reload(signing!, options.config, running, log);
  });
  try {
    if (loaded === null || signing === null) {
      const { runDemo } = await import("./demo.ts");
      return await runDemo({ log, signal: stop.signal, out: cli.out, commandLine });
    }
    await tellWarnings(log, loaded.warnings);
    await logPageProblems(log, loaded.pageProblems);
    const { runDaemon } = await import("../../daemon/run.ts");
    const { keepHeapSmall } = await import("../../daemon/heap.ts");
    keepHeapSmall();
    return await runDaemon(loaded.settings, {
      log,
      signal: stop.signal,
      signer: signing,
      out: cli.out,
      // If both streams are read as one, all lines are JSON; a terminal gets text.
      json: !cli.out.isTTY && !isPrettyLog(cli, { format }),
      commandLine,
      onStarted: (daemon) => {
        const terminal = [cli.out, cli.err].find(({ isTTY }) => isTTY) ?? null;
        showPageLink(daemon, { terminal, log, commandLine });
        running = { daemon, started: loaded.settings, current: loaded.settings };
      },
    });
  } finally {
    release();
    restoreCrashReport();
    flush();
  }
}

/** Checks the machine before the daemon signs in or opens anything. */
async function checkMachine(loaded: Loaded): Promise<void> {
  const { problems, running, database } = await examine(loaded);
  if (problems.length > 0) throw await misconfigured(problems);
  if (running) {
    const { writerOf } = await import("../../history/index.ts");
    const pid = writerOf(database.path);
    throw new CommandFailed(
      `another perpwatch${pid === null ? "" : ` (process ${pid})`} runs with ${database.path} already; ` +
        "stop it first, or give this one another history.path",
    );
  }
}

async function tellWarnings(log: Logger, warnings: readonly ConfigWarning[]): Promise<void> {
  const { formatConfigWarning } = await import("../../config/index.ts");
  for (const warning of warnings) log.warn(formatConfigWarning(warning));
}

/** Without a usable page the daemon still monitors. */
async function logPageProblems(log: Logger, problems: readonly ConfigProblem[]): Promise<void> {
  if (problems.length === 0) return;
  const { formatConfigProblem } = await import("../../config/index.ts");
  for (const line of problems.map(formatConfigProblem).join("\n").split("\n")) log.error(line);
  log.error(
    "the status page is off: mend this and start the daemon again; the monitoring goes on without it",
  );
}

interface Running {
  readonly daemon: Daemon;
  /** The settings at the start: settings that a reload does not apply stay as they are here. */
  readonly started: DaemonSettings;
  /** The settings applied last. */
  current: DaemonSettings;
}

/** Reloads the configuration. Mistakes in it are logged, and the daemon keeps the old one. */
async function reload(signing: Signing, config: string, running: Running, log: Logger): Promise<void> {
  const { daemon, started, current } = running;
  try {
    const { settings, warnings } = await signing.look();
    await tellWarnings(log, warnings);
    const waiting = await daemon.reload(settings);
    running.current = settings;
    // Wallets, their ways of login and the exchange do not change until a restart, also at the signer.
    await signing.renew(settings.wallets.map(({ authority }) => authority));
    const { changedKeys, appliedKeys } = await import("../reload-text.ts");
    const applied = appliedKeys(current, settings);
    log.info(
      `SIGHUP: read ${config} again; ${applied.length === 0 ? "nothing that a running daemon takes has changed" : `taken: ${applied.join(", ")}`}`,
    );
    const appliedSinceStart = appliedKeys(started, settings);
    const keys = waiting
      .flatMap((section) =>
        isSection(section, settings) ? changedKeys(section, started, settings) : [section],
      )
      .filter((key) => !appliedSinceStart.includes(key));
    if (keys.length > 0) log.warn(`SIGHUP: changed, and as before until a restart: ${keys.join(", ")}`);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    const { SignerUnavailable } = await import("../../signer/signer.ts");
    const isTold = error instanceof CommandFailed || error instanceof SignerUnavailable;
    const why = isTold ? text : `reading it again failed: ${text}`;
    const [first = "", ...mistakes] = why.split("\n");
    log.error(`SIGHUP: ${config} is not taken, the daemon goes on as it was; ${first}`);
    for (const mistake of mistakes) log.error(`SIGHUP: ${mistake}`);
  }
}

function isSection(name: string, settings: DaemonSettings): name is keyof DaemonSettings & string {
  return Object.hasOwn(settings, name);
}

/** The same signal twice within this time counts as one. */
const sameStopMs = 1_000;

/**
 * @param onHangup called at SIGHUP, with true if the terminal was closed
 * @returns a function that removes the handlers
 */
function onSignals(
  log: Logger,
  flush: () => void,
  stop: AbortController,
  onHangup: (isClosing: boolean) => void,
): () => void {
  const end = (status: number, why: string): never => {
    log.fatal(why);
    flush();
    process.exit(status);
  };
  let stoppedAtMs = 0;
  let stoppedBy: NodeJS.Signals | null = null;
  let isOrphan = false;
  const begin = (why: string) => {
    log.info(`${why}: stopping`);
    stop.abort(new Error(why));
    // The timer does not keep the process alive.
    setTimeout(() => end(1, `not stopped after ${stopWithinMs} ms: ending now`), stopWithinMs).unref();
  };
  const onStop = (signal: NodeJS.Signals) => {
    // One stop may send two signals: a terminal and a service manager signal both the launcher and this process.
    if (signal === stoppedBy && performance.now() - stoppedAtMs < sameStopMs) return;
    // A service manager that finds the launcher ended signals the rest of the service: the same stop.
    const isFirst = !stop.signal.aborted || (isOrphan && stoppedBy === null);
    if (!isFirst) end(128 + constants.signals[signal], `${signal} again: ending at once`);
    stoppedAtMs = performance.now();
    stoppedBy = signal;
    if (!stop.signal.aborted) begin(signal);
  };
  onLauncherEnd(() => {
    if (stop.signal.aborted) return;
    isOrphan = true;
    begin("the launcher has ended");
  });
  // A closing terminal may send SIGHUP more than once: itself, its shell, the launcher.
  let closedAtMs: number | null = null;
  const onSighup = () => {
    if (closedAtMs !== null && performance.now() - closedAtMs < sameStopMs) return;
    const isClosing = closedAtMs === null && isTerminalClosed();
    if (isClosing) closedAtMs = performance.now();
    onHangup(isClosing);
  };
  process.on("SIGTERM", onStop);
  process.on("SIGINT", onStop);
  process.on("SIGHUP", onSighup);
  return () => {
    process.off("SIGHUP", onSighup);
    // The other handlers stay, so that a second signal ends a process that is still alive.
  };
}
