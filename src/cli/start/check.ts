/** `perpwatch check`: all checks that are possible before the daemon runs. */

import type { Command } from "commander";
import type { KeyPlace } from "../../daemon/settings/wallets.ts";
import type { DaemonSettings } from "../../daemon/settings.ts";
import type { Silence } from "../../domain/alerts/silence.ts";
import type { Source } from "../../domain/sources.ts";
import { isMarketRead } from "../../domain/sources.ts";
import { formatDurationMs } from "../../domain/text/duration.ts";
import { openKeystore } from "../../wallet/keystore.ts";
import { mustReadKeystore } from "../../wallet/keystore-file.ts";
import { BadKey } from "../../wallet/wallet-key.ts";
import { type Cli, type CommonOptions, declare, print, printJson } from "../command.ts";
import { rotaProblems } from "../commands/rota.ts";
import { rulesByFile, rulesText } from "../commands/rules/check.ts";
import { type Loaded, misconfigured } from "../configuration.ts";
import { loadSettings } from "../load-settings.ts";
import { passphraseFrom } from "../signing/passphrase.ts";
import { counted, type Paint, paintFor } from "../terminal/print.ts";
import { table } from "../terminal/table.ts";
import { gigabytes } from "./disk-space.ts";
import { answerWithinMs, examine, type Machine } from "./machine-checks.ts";
import type { Finding } from "./online.ts";

interface CheckOptions extends CommonOptions {
  readonly online?: boolean;
  readonly verbose?: boolean;
}

export function checkCommand(program: Command, cli: Cli): void {
  declare(program, {
    usage: "check",
    summary: "check configuration, rules, rule tests and key files; with --online, also that they work",
    about:
      "A line for what is fine, all of what is not, and the verdict last. Runs the tests beside rules of your own; those of\n" +
      "the packs that come with perpwatch are run by rules test. Exits 2 for mistakes in files, 1 when something failed\n" +
      "online or a rule test failed.",
    examples: ["check", "check --verbose", "check --online --config /etc/perpwatch/config.yaml"],
  })
    .option("--online", "also sign in, read each endpoint in use once, and look at each channel")
    .option(
      "--verbose",
      "list all that is fine: wallets, rules by file, channels, the interval that each schedule will really get",
    )
    .action((options: CheckOptions) => check(cli, options));
}

async function check(cli: Cli, options: CheckOptions): Promise<void> {
  if (options.online !== true) return checkWith(cli, options, await loadSettings(cli, options.config));
  const { withSigning } = await import("../signing/signing.ts");
  await withSigning(cli, options.config, {}, async (signing) =>
    checkWith(cli, options, await signing.load()),
  );
}

async function checkWith(cli: Cli, options: CheckOptions, loaded: Loaded): Promise<void> {
  const { settings } = loaded;
  const machine = await examine(loaded);
  const problems = [...machine.problems, ...rotaProblems(loaded, Date.now())];
  if (problems.length > 0) throw await misconfigured(problems);
  const machineWarnings = [machine.address, machine.room].filter((one) => one !== null);
  const warnings = [...loaded.warnings, ...machineWarnings];
  const { formatConfigWarning } = await import("../../config/index.ts");
  const { demandOf, marketReadsOf } = await import("../../collect/schedule/demand.ts");
  const { plannedPerSecond } = await import("../../exchange/settings.ts");
  const { WantedMarkets } = await import("../../evaluate/wanted-markets.ts");
  const wanted = new WantedMarkets(settings.ruleSet, settings.templates.named);
  const demand = demandOf({
    settings: settings.schedules,
    requestsPerSecond: plannedPerSecond(settings.exchange),
    wallets: settings.wallets.map(({ key, pdaIndices }) => ({ watchOnly: key === null, pdaIndices })),
    marketReads: marketReadsOf((source) => wanted.estimate(source, { markets, held: assumedHeld })),
    nowMs: Date.now(),
  });
  const paint = paintFor(cli.out);
  if (!options.json) {
    const text = options.verbose === true ? offlineText : shortText;
    print(cli, text(settings, demand, machine, paint));
    if (warnings.length > 0) print(cli, "");
    for (const warning of warnings) print(cli, paint("yellow", `warning: ${formatConfigWarning(warning)}`));
    for (const doubt of passphraseWarnings(cli, settings)) print(cli, paint("yellow", `warning: ${doubt}`));
    for (const note of keyNotes(settings)) print(cli, paint("gray", `note: ${note}`));
  }
  const idle = machine.running ? await idleSilences(settings) : [];
  if (!options.json) for (const one of idle) print(cli, paint("yellow", `warning: ${one}`));
  const { isShipped, runTestFiles, testFilesBeside, testsJson, testsText } = await import(
    "../commands/rules/test.ts"
  );
  const own = settings.ruleFiles.filter((file) => !isShipped(file));
  const tested = await runTestFiles(await testFilesBeside(own), "");
  const testsFail = tested.some(({ outcomes }) => outcomes.some(({ failures }) => failures.length > 0));
  if (testsFail) cli.status = 1;
  if (!options.json && tested.length > 0) {
    const text = testsText(tested, paint);
    const shown = testsFail || options.verbose === true ? text : text.split("\n").at(-1)!;
    print(cli, `\n${paint("bold", "Rule tests")}\n${shown}`);
  }
  const findings: Finding[] = [];
  if (options.online === true) {
    const { checkOnline } = await import("./online.ts");
    const report = (text: string) => {
      if (!options.json) print(cli, text);
    };
    report(`\n${paint("bold", `Online, with ${settings.exchange.baseUrl}`)}`);
    const okFindings =
      options.verbose === true ? null : new OkFindings(settings, (text) => report(okText(text, paint)));
    await checkOnline(settings, cli.out, (finding) => {
      findings.push(finding);
      if (okFindings?.take(finding) !== true) report(findingText(finding, paint));
    });
    okFindings?.end();
  }
  const failed = findings.filter((finding) => finding.state === "failed").length;
  if (failed > 0) cli.status = 1;
  if (options.json) {
    return printJson(cli, {
      ok: failed === 0 && !testsFail,
      wallets: walletsOf(settings),
      rules: rulesByFile(settings.ruleSet, settings.ruleFiles),
      channels: Object.entries(settings.channels).map(([name, { type }]) => ({ name, type })),
      demand,
      database: machine.database,
      running: machine.running,
      warnings: warnings.map(({ file, line, column, path, message }) => ({
        ...{ file, line, ...(column === undefined ? {} : { column }), path, message },
      })),
      silences: idle,
      tests: testsJson(tested).files,
      ...(options.online === true ? { online: findings } : {}),
    });
  }
  print(
    cli,
    `\n${verdict(failed + Number(testsFail), warnings.length + idle.length, options.online === true, paint)}`,
  );
}

/** Collects the findings without problems, and reports them by subject: a wallet, a channel, the exchange. */
class OkFindings {
  readonly #settings: DaemonSettings;
  readonly #report: (text: string) => void;
  #subject: string | null = null;
  #found: Finding[] = [];

  constructor(settings: DaemonSettings, report: (text: string) => void) {
    this.#settings = settings;
    this.#report = report;
  }

  /** @returns true if it is reported with the others of its subject */
  take(finding: Finding): boolean {
    const subject = subjectOf(finding.what, this.#settings);
    if (subject !== this.#subject) this.end();
    this.#subject = subject;
    if (finding.state !== "ok") return false;
    this.#found.push(finding);
    return true;
  }

  end(): void {
    const details = this.#found.map(({ detail }) => detail).filter((detail) => detail !== "");
    const what = this.#found.length === 1 ? "" : ` ${this.#found.length} answers`;
    const text = [`${this.#subject}:${what}`, ...details].join(what === "" ? " " : ", ");
    if (this.#found.length > 0) this.#report(text.replace(/:$/, ""));
    this.#found = [];
  }
}

function subjectOf(what: string, { wallets }: DaemonSettings): string {
  if (/^(channel|rule) |^(ledger|signer)$/.test(what)) return what;
  const [name] = what.split(/[/:]/);
  return wallets.some((wallet) => wallet.name === name) ? name! : "exchange";
}

/** Silences of the running daemon that can match nothing, because the configuration lacks their names. */
async function idleSilences(settings: DaemonSettings): Promise<readonly string[]> {
  const { askDaemon } = await import("../../web/index.ts");
  const { labelsOfSilence, unknownNames } = await import("../unknown-names.ts");
  const socketPath = `${settings.history.path}.sock`;
  const signal = AbortSignal.timeout(answerWithinMs);
  const path = "/api/v1/silences";
  const answer = await askDaemon({ socketPath, method: "GET", path, signal }).catch(() => null);
  if (answer?.kind !== "answered" || answer.status !== 200) return [];
  const { silences, nowMs } = answer.body as { silences: readonly Silence[]; nowMs: number };
  return silences
    .filter(({ endsMs }) => endsMs > nowMs)
    .flatMap((silence) =>
      unknownNames(labelsOfSilence(silence), settings).map(
        (why) => `silence ${silence.id} may match nothing: ${why}`,
      ),
    );
}

/** The verdict mentions warnings, so that it does not contradict the lines above it. */
function verdict(failed: number, warnings: number, online: boolean, paint: Paint): string {
  const warned = warnings === 0 ? "" : `, ${counted(warnings, "warning")}`;
  if (failed > 0) return paint("red", `${counted(failed, "check")} failed${warned}.`);
  if (!online)
    return paint(warnings === 0 ? "green" : "yellow", `No mistakes${warned}. --online tries it, too.`);
  return warnings === 0 ? paint("green", "All is well.") : paint("yellow", `Nothing failed${warned}.`);
}

/** Reasons why wallets of the keystore could not sign in, if this user can read it. */
function passphraseWarnings(cli: Cli, { wallets, signer }: DaemonSettings): string[] {
  if (signer.socket !== null || !wallets.some(({ keptIn }) => keptIn === "keystore")) return [];
  try {
    const passphrase = passphraseFrom(signer.passphraseFile, cli.env);
    if (passphrase !== null) openKeystore(mustReadKeystore(signer.keystore), passphrase);
    return passphrase !== null
      ? []
      : [
          `no passphrase of ${signer.keystore} is named (signer.passphraseFile): a start asks for it on its terminal, and without one no wallet is signed in`,
        ];
  } catch (error) {
    if (!(error instanceof BadKey)) throw error;
    return [`no wallet of the keystore could sign in: ${error.message}`];
  }
}

/** Keys that are stored less safely than possible. */
function keyNotes({ wallets }: DaemonSettings): string[] {
  const named = (place: KeyPlace) => wallets.flatMap(({ name, keptIn }) => (keptIn === place ? [name] : []));
  const [inFiles, inConfiguration] = [named("keyFile"), named("secret")];
  const fix = "perpwatch wallet import puts it into the keystore, under a passphrase";
  return [
    ...(inFiles.length === 0 ? [] : [`the key of ${listed(inFiles)} lies in a file as it is; ${fix}`]),
    ...(inConfiguration.length === 0
      ? []
      : [
          `the key of ${listed(inConfiguration)} stands in the configuration, which the daemon reads, too; ${fix}`,
        ]),
  ];
}

function listed(names: readonly string[]): string {
  const more = names.length > maxNames ? `, and ${names.length - maxNames} more` : "";
  return names.slice(0, maxNames).join(", ") + more;
}

function walletsOf(settings: DaemonSettings) {
  return settings.wallets.map(({ name, authority, key, login, pdaIndices, labels, limits }) => ({
    name,
    authority,
    watchOnly: key === null,
    login: key === null ? null : login,
    pdaIndices,
    labels,
    limits,
  }));
}

/** Assumed numbers of the exchange's markets and of those with a position, before anything was read. */
const markets = 30;
const assumedHeld = 5;

type Demand = ReturnType<typeof import("../../collect/schedule/demand.ts").demandOf>;

/** Maximum names in a line; the rest is counted. */
const maxNames = 8;

/** A line for each subject; the table of schedules only if some are slowed down. */
function shortText(settings: DaemonSettings, demand: Demand, machine: Machine, paint: Paint): string {
  const names = (all: readonly string[]): string => (all.length === 0 ? "none" : listed(all));
  const files = rulesByFile(settings.ruleSet, settings.ruleFiles);
  const rules = files.reduce((sum, one) => sum + one.rules.length, 0);
  const wallets = settings.wallets.map(({ name, key, login }) =>
    key === null ? `${name} (watch-only)` : `${name} (signs in by ${login})`,
  );
  const channels = Object.entries(settings.channels).map(([name, { type }]) => `${name} (${type})`);
  const slowed = slowedText(demand, paint) !== "";
  return [
    `wallets: ${names(wallets)}`,
    `rules: ${counted(rules, "rule")} in ${counted(files.length, "file")}`,
    `channels: ${names(channels)}`,
    ...(slowed ? [] : [`schedules: ${shareText(settings, demand)}`]),
    `database: ${settings.history.path} (${databaseText(machine)})`,
    `status page: ${pageOf(settings)}`,
    ...(slowed ? ["", schedulesText(settings, demand, paint)] : []),
  ].join("\n");
}

function rate(perSecond: number): string {
  return perSecond === 0 ? "0" : perSecond < 0.01 ? "<0.01" : perSecond.toFixed(2);
}

function shareText({ exchange }: DaemonSettings, { wantedPerSecond, ceilingPerSecond }: Demand): string {
  const auto = exchange.requestsPerSecond === "auto" ? " that are tried first" : "";
  return `${rate(wantedPerSecond)} of ${ceilingPerSecond} requests/s${auto}`;
}

function offlineText(settings: DaemonSettings, demand: Demand, machine: Machine, paint: Paint): string {
  const wallets = table(
    ["name", "authority", "key", "PDA indices", "labels"],
    walletsOf(settings).map(({ name, authority, watchOnly, login, pdaIndices, labels }) => [
      name,
      authority,
      watchOnly ? "watch-only" : `signs in by ${login}`,
      pdaIndices.join(", "),
      Object.entries(labels)
        .map(([label, value]) => `${label}=${value}`)
        .join(" "),
    ]),
    paint,
  );
  const channels = table(
    ["channel", "type"],
    Object.entries(settings.channels).map(([name, { type }]) => [name, type]),
    paint,
  );
  return [
    `${paint("bold", counted(settings.wallets.length, "wallet"))}\n${wallets}`,
    rulesText(rulesByFile(settings.ruleSet, settings.ruleFiles), paint),
    `${paint("bold", counted(Object.keys(settings.channels).length, "channel"))}\n${channels}`,
    schedulesText(settings, demand, paint),
    `database: ${settings.history.path} (${databaseText(machine)})\nstatus page: ${pageOf(settings)}`,
  ].join("\n\n");
}

function schedulesText(settings: DaemonSettings, demand: Demand, paint: Paint): string {
  const right = (title: string) => ({ title, right: true });
  const schedules = table(
    ["schedule", right("every"), right("really"), right("requests/s")],
    demand.sources.map(({ source, everyMs, effectiveMs, requestsPerSecond }) => {
      const really = requestsPerSecond === 0 ? whyNone(source, settings) : formatDurationMs(effectiveMs);
      return [
        source,
        formatDurationMs(everyMs),
        effectiveMs > everyMs && requestsPerSecond > 0 ? paint("yellow", really) : really,
        rate(requestsPerSecond),
      ];
    }),
    paint,
  );
  const title = paint("bold", `Schedules want ${shareText(settings, demand)}`);
  return `${title}${slowedText(demand, paint)}\n${schedules}`;
}

/** The reason why a schedule makes no requests. */
function whyNone(source: Source, { wallets }: DaemonSettings): string {
  if (wallets.length === 0) return "never: no wallet";
  if (isMarketRead(source)) return "never: no rule asks";
  return source === "notifications" ? "never: no wallet signs in" : "once a wallet";
}

function slowedText({ sources }: Demand, paint: Paint): string {
  const slowed = sources.some((one) => one.requestsPerSecond > 0 && one.effectiveMs > one.everyMs);
  if (!slowed) return "";
  return paint(
    "yellow",
    ": too many, so that some run less often (raise exchange.requestsPerSecond or the intervals)",
  );
}

function databaseText({ database, running }: Machine): string {
  const size = database.bytes ? `, ${gigabytes(database.bytes)}` : "";
  if (running) return `a daemon runs with it${size}`;
  switch (database.state) {
    case "there":
      return `there, and can be written${size}`;
    case "new":
      return "will be made";
    case "newFolder":
      return "will be made, with its folder";
  }
}

function pageOf({ dashboard }: DaemonSettings): string {
  if (dashboard === null) return "off";
  const { host, port, login, tls, behindProxy, allowedHosts } = dashboard;
  const where =
    port === 0
      ? `on ${host}, at a free port that start prints`
      : `${tls === null ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const names = allowedHosts.length === 0 ? "" : `, called ${allowedHosts.join(", ")}`;
  return `${where}${behindProxy ? " behind a proxy" : ""}${names}${login === "never" ? ", open to all users of this machine" : ""}`;
}

function okText(text: string, paint: Paint): string {
  return `  ${paint("green", "ok    ")} ${text}`;
}

function findingText({ state, what, detail, fix }: Finding, paint: Paint): string {
  const mark =
    state === "ok"
      ? paint("green", "ok    ")
      : state === "note"
        ? paint("yellow", "note  ")
        : paint("red", "FAILED");
  const lines = [`  ${mark} ${what}${detail === "" ? "" : `: ${detail}`}`];
  if (fix !== null) lines.push(`         fix: ${fix}`);
  return lines.join("\n");
}
