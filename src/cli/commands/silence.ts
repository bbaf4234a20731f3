/** `perpwatch silence`: holds messages of matching alerts for a time. */
import type { Command } from "commander";
import { type Alert, type Severity, severities } from "../../domain/alerts/alert.ts";
import type { Silence, SilenceWish } from "../../domain/alerts/silence.ts";
import { formatDurationMs } from "../../domain/text/duration.ts";
import { formatTime } from "../../domain/text/time-text.ts";
import {
  type Cli,
  CommandFailed,
  type CommonOptions,
  declare,
  declareGroup,
  hint,
  print,
  printJson,
} from "../command.ts";
import { locate, type Place } from "../configuration.ts";
import { ask, noDaemon } from "../daemon.ts";
import { counted, type Paint, paintFor, severityTint } from "../terminal/print.ts";
import { table } from "../terminal/table.ts";
import { userName } from "../terminal/user-name.ts";
import { durationFrom, oneOf, timeOf } from "../terminal/values.ts";
import { labelsOfSilence, unknownIn } from "../unknown-names.ts";

interface AddOptions extends CommonOptions {
  readonly for?: number;
  readonly until?: string;
  readonly from?: string;
  readonly upTo?: Severity;
  readonly comment: string;
  readonly by?: string;
  readonly preview?: boolean;
  readonly force?: boolean;
}

const maxListed = 50;

export function silenceCommand(program: Command, cli: Cli): void {
  const group = declareGroup(
    program,
    "silence",
    "hold messages for a while; what is held is sent when it ends",
    [
      'silence add wallet=main rule=FundingCostHigh --for 8h --comment "known, hedged elsewhere"',
      "silence list",
      "silence expire 3",
    ],
  );
  declare(group, {
    usage: "add <matchers...>",
    summary: "silence what matches all of these",
    about:
      "Matchers are labels of alerts: rule, severity, wallet, symbol, subject, and labels of wallets and rules, as wallet=main,\n" +
      "severity=warning,info (one of them), rule!=Blind, wallet=~mm-.* (a pattern). A silence holds up to a level: what rises\n" +
      "above is sent all the same. It drops nothing: events are sent when it ends, and alerts that still fire then.",
    examples: [
      'silence add wallet=main rule=FundingCostHigh --for 8h --comment "known"',
      'silence add "symbol=~SOL|ETH" --for 2h --up-to critical --comment "maintenance"',
      "silence add wallet=main --for 1h --preview",
    ],
  })
    .option("--for <duration>", "for so long, such as 8h", durationFrom)
    .option("--until <time>", "until then, instead")
    .option("--from <time>", "from then on; default: now")
    .option(
      "--up-to <severity>",
      `the worst level that it holds: ${severities.join(", ")}; default: warning`,
      oneOf(severities),
    )
    .option("--comment <text>", "why, for those who read it later", "")
    .option("--by <name>", "who; default: you")
    .option("--preview", "only say what it would hold now")
    .option("--force", "also for a rule, wallet or label that the configuration does not have")
    .action((matchers: string[], options: AddOptions) => add(cli, matchers, options));
  declare(group, {
    usage: "list",
    summary: "silences, newest first",
    examples: ["silence list --json"],
    isDefault: true,
  }).action((options: CommonOptions) => list(cli, options));
  declare(group, {
    usage: "expire <id>",
    summary: "end a silence now: what it held is sent",
    examples: ["silence expire 3"],
  })
    .option("--by <name>", "who; default: you")
    .action((id: string, options: CommonOptions & { readonly by?: string }) => expire(cli, id, options));
}

async function add(cli: Cli, matchers: readonly string[], options: AddOptions): Promise<void> {
  if ((options.for === undefined) === (options.until === undefined))
    throw new CommandFailed("say for how long: --for 8h, or --until TIME", 2);
  const place = await locate(cli, options.config);
  await refuseUnknown(cli, matchers, options);
  // By the daemon's clock, which is corrected to the exchange's.
  const time = await ask<{ nowMs: number }>(place, "GET", "/api/v1/silences");
  if (time.kind === "noDaemon") throw noDaemon(place);
  const { nowMs } = time.body;
  const startsMs = options.from === undefined ? undefined : timeOf("--from", options.from, nowMs);
  const endsMs =
    options.until === undefined
      ? (startsMs ?? nowMs) + options.for!
      : timeOf("--until", options.until, nowMs);
  const wish: SilenceWish & { readonly preview?: boolean } = {
    matchers,
    author: options.by ?? userName(cli),
    comment: options.comment,
    endsMs,
    ...(startsMs === undefined ? {} : { startsMs }),
    ...(options.upTo === undefined ? {} : { upTo: options.upTo }),
    ...(options.preview === true ? { preview: true } : {}),
  };
  const path = "/api/v1/silences";
  const answer = await ask<{ silence: Silence; holds: readonly Alert[] }>(place, "POST", path, wish);
  if (answer.kind === "noDaemon") throw noDaemon(place);
  const { silence, holds } = answer.body;
  if (options.json) return printJson(cli, { preview: options.preview === true, ...answer.body });
  const { matchersText } = await import("../../alerts/routing/match.ts");
  const what = `${matchersText(silence.match)}, up to ${silence.upTo}, until ${formatTime(silence.endsMs, place.timezone)}`;
  print(
    cli,
    options.preview === true
      ? `Nothing is silenced yet. It would hold ${what}.`
      : `Silence ${silence.id}: ${what}.`,
  );
  print(cli, holdsText(holds, paintFor(cli.out)));
  if (silence.upTo !== "critical")
    print(cli, "Critical alerts are sent all the same; --up-to critical holds them too.");
}

/**
 * Refuses unknown names: a mistyped one would silence nothing without notice.
 * @throws {CommandFailed} status 2 unless `--force` is given
 */
async function refuseUnknown(cli: Cli, matchers: readonly string[], options: AddOptions): Promise<void> {
  const { isWrong, parseMatchers } = await import("../../alerts/routing/match.ts");
  const match = parseMatchers(matchers);
  if (isWrong(match)) throw new CommandFailed(match.wrong, 2);
  const unknown = await unknownIn(cli, options.config, labelsOfSilence({ match }));
  if (options.force === true) for (const sentence of unknown) hint(cli, `warning: ${sentence}`);
  else if (unknown.length > 0)
    throw new CommandFailed(`${unknown.join("; ")}. Nothing is silenced; --force does it all the same`, 2);
}

function holdsText(holds: readonly Alert[], paint: Paint): string {
  if (holds.length === 0) return "Nothing that fires now matches.";
  const lines = holds
    .slice(0, maxListed)
    .map(({ id, severity, summary }) => `  #${id} ${paint(severityTint(severity), severity)} ${summary}`);
  const more = holds.length > maxListed ? [`  and ${holds.length - maxListed} more`] : [];
  return [`Of what fires now it holds ${counted(holds.length, "alert")}:`, ...lines, ...more].join("\n");
}

async function list(cli: Cli, options: CommonOptions): Promise<void> {
  const place = await locate(cli, options.config);
  const answer = await ask<{ silences: readonly Silence[]; nowMs: number }>(place, "GET", "/api/v1/silences");
  if (answer.kind === "noDaemon") throw noDaemon(place);
  if (options.json) return printJson(cli, answer.body);
  const { silences, nowMs } = answer.body;
  if (silences.length === 0) return print(cli, "No silences.");
  print(cli, await silenceTable(silences, nowMs, paintFor(cli.out)));
}

export async function silenceTable(
  silences: readonly Silence[],
  nowMs: number,
  paint: Paint,
): Promise<string> {
  const { matchersText } = await import("../../alerts/routing/match.ts");
  const rows = silences.map((silence) => [
    String(silence.id),
    stateOf(silence, nowMs),
    silence.upTo,
    matchersText(silence.match),
    silence.author,
    silence.comment,
  ]);
  return table([{ title: "id", right: true }, "state", "up to", "matches", "by", "comment"], rows, paint);
}

function stateOf({ startsMs, endsMs }: Silence, nowMs: number): string {
  if (endsMs <= nowMs) return `over for ${formatDurationMs(nowMs - endsMs)}`;
  if (startsMs > nowMs) return `begins in ${formatDurationMs(startsMs - nowMs)}`;
  return `for ${formatDurationMs(endsMs - nowMs)} more`;
}

async function expire(
  cli: Cli,
  text: string,
  options: CommonOptions & { readonly by?: string },
): Promise<void> {
  const id = Number(text.replace(/^#/, ""));
  if (!Number.isSafeInteger(id) || id < 1)
    throw new CommandFailed(`a silence's id is a number such as 3, not ${JSON.stringify(text)}`, 2);
  const place: Place = await locate(cli, options.config);
  const by = options.by ?? userName(cli);
  const answer = await ask<{ result: string }>(place, "POST", `/api/v1/silences/${id}/expire`, { by });
  if (answer.kind === "noDaemon") throw noDaemon(place);
  if (options.json) printJson(cli, { id, ...answer.body });
  else print(cli, `Silence ${id} is over.`);
}
