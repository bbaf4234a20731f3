/** `perpwatch check`: everything that can be known before the daemon runs. */
import type { Command } from "commander";
import { formatDurationMs } from "../domain/duration.ts";
import type { Source } from "../domain/observation.ts";
import type { Silence } from "../domain/silence.ts";
import type { DaemonSettings } from "../settings.ts";
import { type Cli, type CommonOptions, declare, print, printJson } from "./command.ts";
import { loadSettings, misconfigured } from "./configuration.ts";
import { answerWithinMs, examine, type Ground } from "./ground.ts";
import type { Finding } from "./online.ts";
import { counted, type Paint, paintFor, table } from "./print.ts";
import { gigabytes } from "./room.ts";
import { rulesByFile, rulesText } from "./rules/check.ts";

interface CheckOptions extends CommonOptions {
  readonly online?: boolean;
}

export function checkCommand(program: Command, cli: Cli): void {
  declare(program, {
    usage: "check",
    summary: "check configuration, rules, rule tests and key files; with --online, also that they work",
    about:
      "Prints wallets, rules, channels, and the requests a second that the schedules want against the ceiling, with the\n" +
      "interval that each of them will really get. Exits 2 for mistakes in files, 1 when something failed online.",
    examples: ["check", "check --online --config /etc/perpwatch/config.yaml"],
  })
    .option("--online", "also sign in, read each endpoint in use once, and look at each channel")
    .action((options: CheckOptions) => check(cli, options));
}

async function check(cli: Cli, options: CheckOptions): Promise<void> {
  const loaded = await loadSettings(cli, options.config);
  const { settings } = loaded;
  const ground = await examine(loaded);
  if (ground.problems.length > 0) throw await misconfigured(ground.problems);
  const doubts = [ground.address, ground.room].filter((one) => one !== null);
  const warnings = [...loaded.warnings, ...doubts];
  const { formatConfigWarning } = await import("../config/index.ts");
  const { demandOf, marketReadsOf } = await import("../collect/demand.ts");
  const { plannedPerSecond } = await import("../exchange/settings.ts");
  const { WantedMarkets } = await import("../watch/wanted-markets.ts");
  const wanted = new WantedMarkets(settings.ruleSet, settings.templates.named);
  const demand = demandOf({
    settings: settings.schedules,
    requestsPerSecond: plannedPerSecond(settings.exchange),
    wallets: settings.wallets.map(({ key, pdaIndices }) => ({ watchOnly: key === null, pdaIndices })),
    marketReads: marketReadsOf((source) => wanted.estimate(source, { markets, held: heldAtAGuess })),
    nowMs: Date.now(),
  });
  const paint = paintFor(cli.out);
  if (!options.json) {
    print(cli, offlineText(settings, demand, ground, paint));
    if (warnings.length > 0) print(cli, "");
    for (const warning of warnings) print(cli, paint("yellow", `warning: ${formatConfigWarning(warning)}`));
  }
  const idle = ground.running ? await idleSilences(settings) : [];
  if (!options.json) for (const one of idle) print(cli, paint("yellow", `warning: ${one}`));
  const { runTestFiles, testFilesBeside, testsJson, testsText } = await import("./rules/test.ts");
  const tested = await runTestFiles(await testFilesBeside(settings.ruleFiles), "");
  const testsFail = tested.some(({ outcomes }) => outcomes.some(({ failures }) => failures.length > 0));
  if (testsFail) cli.status = 1;
  if (!options.json && tested.length > 0)
    print(cli, `\n${paint("bold", "Rule tests")}\n${testsText(tested, paint)}`);
  const findings: Finding[] = [];
  if (options.online === true) {
    const { checkOnline } = await import("./online.ts");
    if (!options.json) print(cli, `\n${paint("bold", `Online, with ${settings.exchange.baseUrl}`)}`);
    await checkOnline(settings, cli.out, (finding) => {
      findings.push(finding);
      if (!options.json) print(cli, findingText(finding, paint));
    });
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
      database: ground.database,
      running: ground.running,
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

/** Silences of the running daemon that ask for what nothing has: they hold nothing. */
async function idleSilences(settings: DaemonSettings): Promise<readonly string[]> {
  const { askDaemon } = await import("../dashboard/index.ts");
  const { askedOf, unknownNames } = await import("./unknown-names.ts");
  const socketPath = `${settings.history.path}.sock`;
  const signal = AbortSignal.timeout(answerWithinMs);
  const path = "/api/v1/silences";
  const answer = await askDaemon({ socketPath, method: "GET", path, signal }).catch(() => null);
  if (answer?.kind !== "answered" || answer.status !== 200) return [];
  const { silences, nowMs } = answer.body as { silences: readonly Silence[]; nowMs: number };
  return silences
    .filter(({ endsMs }) => endsMs > nowMs)
    .flatMap((silence) =>
      unknownNames(askedOf(silence), settings).map(
        (why) => `silence ${silence.id} may match nothing: ${why}`,
      ),
    );
}

/** Nobody is told that all is well right below a warning. */
function verdict(failed: number, warnings: number, online: boolean, paint: Paint): string {
  const warned = warnings === 0 ? "" : `, ${counted(warnings, "warning")}`;
  if (failed > 0) return paint("red", `${counted(failed, "check")} failed${warned}.`);
  if (!online)
    return paint(warnings === 0 ? "green" : "yellow", `No mistakes${warned}. --online tries it, too.`);
  return warnings === 0 ? paint("green", "All is well.") : paint("yellow", `Nothing failed${warned}.`);
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

/** Nothing has been read yet: as many markets as an exchange has, and as a desk holds. */
const markets = 30;
const heldAtAGuess = 5;

type Demand = ReturnType<typeof import("../collect/demand.ts").demandOf>;

function offlineText(settings: DaemonSettings, demand: Demand, ground: Ground, paint: Paint): string {
  const right = (title: string) => ({ title, right: true });
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
  const rate = (perSecond: number) =>
    perSecond === 0 ? "0" : perSecond < 0.01 ? "<0.01" : perSecond.toFixed(2);
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
  const { wantedPerSecond, ceilingPerSecond } = demand;
  const auto = settings.exchange.requestsPerSecond === "auto" ? " that are tried first" : "";
  const share = `${rate(wantedPerSecond)} of ${ceilingPerSecond} requests/s${auto}`;
  return [
    `${paint("bold", counted(settings.wallets.length, "wallet"))}\n${wallets}`,
    rulesText(rulesByFile(settings.ruleSet, settings.ruleFiles), paint),
    `${paint("bold", counted(Object.keys(settings.channels).length, "channel"))}\n${channels}`,
    `${paint("bold", `Schedules want ${share}`)}${overText(demand, paint)}\n${schedules}`,
    `database: ${settings.history.path} (${databaseText(ground)})\nstatus page: ${pageOf(settings)}`,
  ].join("\n\n");
}

/** The reason why a schedule requests nothing. */
function whyNone(source: Source, { wallets }: DaemonSettings): string {
  if (wallets.length === 0) return "never: no wallet";
  if (source === "orderbook" || source === "calendars" || source === "candles") return "never: no rule asks";
  return source === "notifications" ? "never: no wallet signs in" : "once a wallet";
}

function overText({ sources }: Demand, paint: Paint): string {
  const slowed = sources.some((one) => one.requestsPerSecond > 0 && one.effectiveMs > one.everyMs);
  if (!slowed) return "";
  return paint(
    "yellow",
    ": too many, so that some run less often (raise exchange.requestsPerSecond or the intervals)",
  );
}

function databaseText({ database, running }: Ground): string {
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
  return dashboard.port === 0
    ? `on ${dashboard.host}, at a free port that start tells`
    : `http://${dashboard.host.includes(":") ? `[${dashboard.host}]` : dashboard.host}:${dashboard.port}`;
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
