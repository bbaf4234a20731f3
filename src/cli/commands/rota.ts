/** `perpwatch rota`: the people on duty by the configured rotas, now and next. The daemon is not needed. */
import type { Command } from "commander";
import {
  addressee,
  type DutyPeriod,
  dutyPeriods,
  onDuty,
  planFaults,
  type RotaPlan,
} from "../../channels/rota/plan.ts";
import { faultText, formatShiftTime } from "../../channels/rota/shift-text.ts";
import type { ConfigProblem } from "../../daemon/settings.ts";
import { type Cli, CommandFailed, type CommonOptions, declare, print, printJson } from "../command.ts";
import { type Loaded, rotaPlans } from "../configuration.ts";
import { paintFor } from "../terminal/print.ts";
import { table } from "../terminal/table.ts";

/** Maximum turns in the list, including the present one. */
const maxTurns = 8;
const aheadMs = 60 * 86_400_000;

export function rotaCommand(program: Command, cli: Cli): void {
  declare(program, {
    usage: "rota",
    summary: "who is on duty now, and the next turns",
    about:
      "By the channels of the type rota in the configuration, their calendars and their overrides (docs/channels/rota.md).\n" +
      "Gaps of the next 30 days are listed as well. A running daemon has a changed plan after a reload.",
    examples: ["rota", "rota oncall", "rota --json"],
  })
    .argument("[name]", "of one rota; left out: all")
    .action((name: string | undefined, options: CommonOptions) => run(cli, name, options));
}

async function run(cli: Cli, name: string | undefined, options: CommonOptions): Promise<void> {
  const plans = Object.entries(await rotaPlans(cli, options.config));
  const names = plans.map(([one]) => one);
  if (names.length === 0)
    throw new CommandFailed("no channel of the configuration is a rota; docs/channels/rota.md has one", 2);
  if (name !== undefined && !names.includes(name))
    throw new CommandFailed(`no rota is called ${name}; there are ${names.join(", ")}`, 2);
  const nowMs = Date.now();
  const wanted = plans.filter(([one]) => name === undefined || one === name);
  if (options.json)
    return printJson(cli, { nowMs, rotas: wanted.map(([one, plan]) => asJson(one, plan, nowMs)) });
  const paint = paintFor(cli.out);
  for (const [index, [one, plan]] of wanted.entries()) {
    const { timezone } = plan;
    const title = `${one}: ${nowText(plan, nowMs)}`;
    print(cli, `${index === 0 ? "" : "\n"}${paint("bold", title)}`);
    const rows = turnsOf(plan, nowMs).map(({ people, fromMs, toMs }, turn) => [
      people.join(" and ") || "nobody",
      turn === 0 ? "now" : formatShiftTime(fromMs, timezone),
      toMs === nowMs + aheadMs ? "" : formatShiftTime(toMs, timezone),
    ]);
    print(cli, table(["on duty", "from", "to"], rows, paint));
    for (const fault of planFaults(plan, nowMs)) print(cli, paint("red", faultText(fault, timezone)));
  }
}

function nowText(plan: RotaPlan, nowMs: number): string {
  const person = onDuty(plan, nowMs);
  return person === null
    ? `nobody is on duty; messages go to ${addressee(plan, nowMs)}`
    : `${person} is on duty`;
}

function turnsOf(plan: RotaPlan, nowMs: number): readonly DutyPeriod[] {
  return dutyPeriods(plan, nowMs, nowMs + aheadMs).slice(0, maxTurns);
}

function asJson(name: string, plan: RotaPlan, nowMs: number) {
  return {
    name,
    timezone: plan.timezone,
    onDuty: onDuty(plan, nowMs),
    messagesGoTo: addressee(plan, nowMs),
    turns: turnsOf(plan, nowMs).map(({ people, fromMs, toMs }) => ({
      people,
      from: iso(fromMs),
      to: iso(toMs),
    })),
    faults: planFaults(plan, nowMs).map(({ people, fromMs, toMs }) => ({
      ...{ kind: people.length === 0 ? "gap" : "overlap", people, from: iso(fromMs), to: iso(toMs) },
    })),
  };
}

const iso = (ms: number): string => new Date(ms).toISOString();

/** Gaps and overlaps of the rotas within the next 30 days, each at the place of its rota. */
export function rotaProblems({ settings, problemAt }: Loaded, nowMs: number): readonly ConfigProblem[] {
  return Object.entries(settings.rotas).flatMap(([name, plan]) =>
    planFaults(plan, nowMs).map((fault) => problemAt(["channels", name], faultText(fault, plan.timezone))),
  );
}
