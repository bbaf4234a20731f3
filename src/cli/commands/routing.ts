/** `perpwatch routing`: shows the route of an alert. */
import type { Command } from "commander";
import { labelOf, matchersText } from "../../alerts/routing/match.ts";
import { intervalsFor, isMute } from "../../alerts/routing/mute.ts";
import {
  groupKeyOf,
  type RouteSettings,
  type Routing,
  type Way,
  waysFor,
} from "../../alerts/routing/route.ts";
import { severities } from "../../domain/alerts/alert.ts";
import { formatDurationMs } from "../../domain/text/duration.ts";
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
import { loadSettings } from "../load-settings.ts";
import { unknownNames } from "../unknown-names.ts";

interface TestOptions extends CommonOptions {
  readonly labels: readonly string[];
}

export function routingCommand(program: Command, cli: Cli): void {
  const group = declareGroup(program, "routing", "show which way an alert would take", [
    "routing test --labels severity=critical wallet=main",
  ]);
  declare(group, {
    usage: "test",
    summary:
      "print the routes that an alert with these labels takes, with its receivers, group and escalation",
    about:
      "Labels are severity, rule, wallet, symbol, subject, and labels of wallets and rules. Those of a wallet or a rule that is named\n" +
      "are added by themselves. Nothing is sent, and no daemon is asked.",
    examples: [
      "routing test --labels severity=critical wallet=main",
      "routing test --labels rule=Blind,severity=warning,wallet=mm-7 --json",
    ],
  })
    .requiredOption("--labels <label=value...>", "labels of the alert, by spaces or commas")
    .action((options: TestOptions) => test(cli, options));
}

async function test(cli: Cli, options: TestOptions): Promise<void> {
  const given = labelsFrom(options.labels);
  const { settings } = await loadSettings(cli, options.config);
  const { routing, timezone, wallets, ruleSet } = settings;
  const wallet = wallets.find(({ name }) => name === given.wallet);
  const rule = [...ruleSet.conditions, ...ruleSet.events].find(({ name }) => name === given.rule);
  const labels = { ...wallet?.labels, ...rule?.labels, ...given };
  const nowMs = Date.now();
  // Without a severity, the default level that mute times hold is assumed.
  const level = severities.find((one) => one === given.severity) ?? "warning";
  const isMuteNow = (name: string) =>
    isMute(intervalsFor(routing.muteTimes[name] ?? [], level), nowMs, timezone);
  const ways = waysFor(routing, labels).map((way) => ({
    path: pathOf(routing, way),
    receivers: way.receivers,
    group: groupKeyOf(way, labels),
    groupOf: groupOf(way, labels),
    groupWaitMs: way.groupWaitMs,
    groupIntervalMs: way.groupIntervalMs,
    mute: way.mute,
    muteNow: way.mute.filter(isMuteNow),
    escalate: way.escalate,
  }));
  const asked = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, [value]]));
  for (const sentence of unknownNames(asked, settings)) hint(cli, `warning: ${sentence}`);
  if (options.json) return printJson(cli, { labels, ways });
  const shown = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  print(cli, shown.join(" "));
  for (const way of ways) {
    print(cli, "");
    for (const [depth, step] of way.path.entries()) print(cli, `${"  ".repeat(depth)}${step}`);
    const indent = "  ".repeat(way.path.length);
    const lines = [
      `sends to ${way.receivers.join(", ")}`,
      `in ${way.groupOf}: after ${formatDurationMs(way.groupWaitMs)}, then every ${formatDurationMs(way.groupIntervalMs)} at most; critical at once`,
      ...(way.mute.length === 0
        ? []
        : [
            `mute at ${way.mute.join(", ")}${way.muteNow.length > 0 ? ` (now: ${way.muteNow.join(", ")})` : " (not now)"}`,
          ]),
      ...way.escalate.map(
        ({ afterMs, receivers }) =>
          `not acknowledged in ${formatDurationMs(afterMs)}: sends to ${receivers.join(", ")}`,
      ),
    ];
    for (const line of lines) print(cli, `${indent}${line}`);
  }
}

/** The group for people. */
function groupOf({ groupBy }: Way, labels: Readonly<Record<string, string>>): string {
  if (groupBy.length === 0) return "one group with all that comes this way";
  const values = groupBy.map((name) => {
    const value = labelOf(labels, name);
    return value === "" ? `no ${name}` : `${name}=${value}`;
  });
  return `the group of ${values.join(" and ")}`;
}

/** The path through the tree, one step for each level. */
function pathOf(routing: Routing, way: Way): readonly string[] {
  const steps = ["routing"];
  let routes: readonly RouteSettings[] = routing.routes;
  for (const index of way.path) {
    const route = routes[index]!;
    steps.push(`route ${index + 1}: ${matchersText(route.match)}${route.continue ? " (and goes on)" : ""}`);
    routes = route.routes;
  }
  return steps;
}

function labelsFrom(texts: readonly string[]): Readonly<Record<string, string>> {
  const labels: Record<string, string> = {};
  for (const text of texts.flatMap((one) => one.split(","))) {
    const [, name, value] = /^([A-Za-z_][\w-]*)=(.*)$/s.exec(text.trim()) ?? [];
    if (name === undefined || value === undefined)
      throw new CommandFailed(`"${text}" is no label with a value; they look like severity=critical`, 2);
    labels[name] = value;
  }
  return labels;
}
