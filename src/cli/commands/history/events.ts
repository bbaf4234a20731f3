/** `perpwatch history events`: events of the exchange. */
import type { Command } from "commander";
import type { Event, EventKind } from "../../../domain/event.ts";
import { nearestName } from "../../../domain/text/nearest.ts";
import { formatTime } from "../../../domain/text/time-text.ts";
import type { RuleEventKind, Unit } from "../../../rules/index.ts";
import { type Cli, CommandFailed, type CommonOptions, declare, print, printJson } from "../../command.ts";
import { paintFor } from "../../terminal/print.ts";
import { table } from "../../terminal/table.ts";
import { integerFrom } from "../../terminal/values.ts";
import { withSpan } from "./open.ts";

interface EventsOptions extends CommonOptions {
  readonly kind?: string;
  readonly wallet?: string;
  readonly since: string;
  readonly until: string;
  readonly limit: number;
}

export function eventsCommand(parent: Command, cli: Cli): void {
  declare(parent, {
    usage: "events",
    summary: "list events: liquidations, fills, funding, transfers, notifications and more, newest first",
    examples: [
      "history events --since 7d",
      "history events --kind liquidation --wallet main --since 30d --json",
    ],
  })
    .option("--kind <kind>", "only of this kind")
    .option("--wallet <name>", "only of this wallet")
    .option("--since <time>", "from when: 7d (before now), or a time with its zone", "1d")
    .option("--until <time>", "until when", "now")
    .option("--limit <n>", "at most so many", integerFrom(1, 100_000), 50)
    .action((options: EventsOptions) => run(cli, options));
}

async function run(cli: Cli, options: EventsOptions): Promise<void> {
  const { kind, wallet, limit } = options;
  if (kind !== undefined) await refuseUnknown(kind);
  await withSpan(cli, options, async (history, { timezone }, fromMs, toMs) => {
    const events = await history.events({
      ...(kind === undefined ? {} : { kind: kind as EventKind }),
      ...(wallet === undefined ? {} : { wallet }),
      ...{ fromMs, toMs, limit, newestFirst: true },
    });
    if (options.json) return printJson(cli, { events });
    if (events.length === 0) return print(cli, "Nothing happened in this time.");
    const { eventVocabulary, formatNumber } = await import("../../../rules/index.ts");
    const fieldUnits = (kind: string): ReadonlyMap<string, Unit> => {
      const fields = Object.hasOwn(eventVocabulary, kind) ? eventVocabulary[kind as RuleEventKind] : [];
      return new Map(fields.map(({ name, unit }) => [name, unit]));
    };
    const rows = events.map((event) => [
      formatTime(event.happenedMs, timezone),
      event.kind,
      accountText(event),
      event.symbol ?? "",
      fieldsOf(event, fieldUnits(event.kind), formatNumber),
    ]);
    print(cli, table(["happened", "kind", "account", "market", "figures"], rows, paintFor(cli.out)));
    if (events.length === limit) print(cli, `\nThe newest ${limit}; --limit shows more.`);
  });
}

async function refuseUnknown(kind: string): Promise<void> {
  const { eventKinds } = await import("../../../rules/index.ts");
  const known: readonly string[] = eventKinds;
  if (known.includes(kind)) return;
  const nearest = nearestName(kind, known);
  const hint = nearest === null ? "" : ` (did you mean ${nearest}?)`;
  throw new CommandFailed(`no event is of the kind ${kind}${hint}; there are ${known.join(", ")}`, 2, {
    known,
  });
}

function accountText({ wallet, pdaIndex, subaccount }: Event): string {
  if (wallet === null) return "";
  return pdaIndex === null || subaccount === null ? wallet : `${wallet}/${pdaIndex}.${subaccount}`;
}

/** Figures as in messages: rounded, with their units. Fields that the vocabulary lacks are plain numbers. */
function fieldsOf(
  { fields }: Event,
  units: ReadonlyMap<string, Unit>,
  format: (value: number, unit: Unit) => string,
): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== null && value !== "")
    .map(([name, value]) => {
      const text = typeof value === "number" ? format(value, units.get(name) ?? "none") : value;
      return `${name} ${text}`;
    })
    .join(" · ");
}
