/** Reads `expect:` of a test: expected alerts and messages at given times. */
import { endings, severities } from "../../domain/alerts/alert.ts";
import type { Entry } from "./entry.ts";
import type {
  AlertStateName,
  DataStateName,
  Expectation,
  ExpectedAlert,
  ExpectedMessage,
  ExpectedNothing,
} from "./suite.ts";

const states: readonly AlertStateName[] = ["pending", "firing", "ended", "event"];
const dataStates: readonly DataStateName[] = ["ok", "noData", "error"];

const alertKeys = [
  "rule",
  "subject",
  "state",
  "severity",
  "ending",
  "dataState",
  "value",
  "alreadySo",
  "acknowledged",
  "summary",
  "description",
  "labels",
];
const messageKeys = ["to", "lead", "title", "rule", "subject", "severity", "summary", "description"];

export function readExpectations(entry: Entry | undefined): readonly Expectation[] {
  let beforeMs = Number.NEGATIVE_INFINITY;
  return (entry?.items() ?? []).flatMap((one): Expectation[] => {
    if (!one.mapping(["at", "rules", "alerts", "messages"])) return [];
    const at = one.need("at");
    const atMs = at?.durationMs();
    if (atMs === undefined) return [];
    if (atMs < beforeMs) at?.problem({ message: "expectations stand in the order of their times" });
    beforeMs = atMs;
    const alerts = one.get("alerts");
    const messages = one.get("messages");
    if (alerts === undefined && messages === undefined)
      one.problem({ message: "alerts or messages is missing: nothing is expected here" });
    for (const list of [alerts, messages])
      if (list !== undefined && !list.isList)
        list.problem({ message: `${list.name} must be a list; [] is none` });
    const rules = one.get("rules");
    return [
      {
        atMs,
        line: one.line,
        rules: rules === undefined ? null : rules.items().map((rule) => rule.needText() ?? ""),
        alerts: alerts?.isList === true ? alerts.items().flatMap(readAlert) : null,
        messages: messages?.isList === true ? messages.items().flatMap(readMessage) : null,
      },
    ];
  });
}

/** `true`: to the end of the series; a duration: for that time; false: nothing is checked. */
export function readNothing(entry: Entry): ExpectedNothing | null {
  const { line } = entry;
  if (entry.isMap) {
    if (!entry.mapping(["for", "judged"])) return null;
    const judged = entry.get("judged");
    if (judged !== undefined && !judged.isList)
      judged.problem({ message: "judged must be a list of the rules that have to be judged" });
    return {
      line,
      untilMs: entry.get("for")?.durationMs() ?? null,
      judged: judged?.isList === true ? judged.items().map((rule) => rule.needText() ?? "") : null,
    };
  }
  if (entry.scalar === false) return null;
  return { line, untilMs: entry.scalar === true ? null : (entry.durationMs() ?? null), judged: null };
}

function readAlert(entry: Entry): ExpectedAlert[] {
  if (!entry.mapping(alertKeys)) return [];
  const rule = entry.need("rule")?.needText();
  if (rule === undefined) return [];
  const labels = entry.get("labels");
  labels?.mapping(null);
  const ending = entry.get("ending")?.oneOf(endings) ?? null;
  const state = entry.get("state")?.oneOf(states) ?? null;
  if (ending !== null && state !== null && state !== "ended")
    entry.get("ending")?.problem({ message: `what is ${state} has no ending` });
  return [
    {
      line: entry.line,
      rule,
      subject: textOf(entry, "subject"),
      state: state ?? (ending === null ? null : "ended"),
      severity: entry.get("severity")?.oneOf(severities) ?? null,
      ending,
      dataState: entry.get("dataState")?.oneOf(dataStates) ?? null,
      value: entry.get("value")?.number() ?? null,
      alreadySo: entry.get("alreadySo")?.boolean() ?? null,
      acknowledged: entry.get("acknowledged")?.boolean() ?? null,
      summary: textOf(entry, "summary"),
      description: textOf(entry, "description"),
      labels:
        labels === undefined
          ? null
          : Object.fromEntries(labels.entries().map((label) => [label.name, label.needText() ?? ""])),
    },
  ];
}

function readMessage(entry: Entry): ExpectedMessage[] {
  const nothing = {
    to: null,
    lead: null,
    rule: null,
    subject: null,
    severity: null,
    summary: null,
    description: null,
  };
  if (!entry.isMap) {
    const title = entry.needText();
    return title === undefined ? [] : [{ ...nothing, line: entry.line, title }];
  }
  entry.mapping(messageKeys);
  return [
    {
      line: entry.line,
      to: textOf(entry, "to"),
      lead: textOf(entry, "lead"),
      title: textOf(entry, "title"),
      rule: textOf(entry, "rule"),
      subject: textOf(entry, "subject"),
      severity: entry.get("severity")?.oneOf(severities) ?? null,
      summary: textOf(entry, "summary"),
      description: textOf(entry, "description"),
    },
  ];
}

/** Empty text is valid here: a description may be empty. */
function textOf(entry: Entry, key: string): string | null {
  const found = entry.get(key);
  if (found === undefined) return null;
  if (found.scalar === "") return "";
  return found.needText() ?? null;
}
