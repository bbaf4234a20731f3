/** Reads an event rule from its mapping. */
import { severities } from "../../domain/alerts/alert.ts";
import type { AckWord } from "../../domain/alerts/delivery.ts";
import { Gathered, type Naming } from "../expression/context.ts";
import type { Compiled, EventRule } from "../rule.ts";
import { eventKinds } from "../vocabulary/field-types.ts";
import { visibleToEvents } from "../vocabulary.ts";
import {
  fingerprintOf,
  type LoadContext,
  needsSession,
  readExpression,
  readLabels,
  readMode,
  readName,
  readRunbook,
  readSelect,
  readTemplate,
  refuseMarketLimits,
  staleness,
  warnOfLimits,
} from "./common.ts";
import type { Reader } from "./reader.ts";

export const eventKeys: readonly string[] = [
  "name",
  "on",
  "select",
  "when",
  "severity",
  "labels",
  "summary",
  "description",
  "runbook",
  "throttle",
  "acknowledge",
  "mode",
];

const ackWords: readonly AckWord[] = ["never", "whenDelivered", "whenAcknowledged", "always"];
const always: Compiled<boolean> = { text: "true", unit: "none", run: () => true };

/** @returns undefined if there was a mistake; every mistake was reported */
export function readEvent(reader: Reader, context: LoadContext): EventRule | undefined {
  let wrong = false;
  const watched: LoadContext = {
    ...context,
    problem: (problem) => {
      wrong = true;
      context.problem(problem);
    },
  };
  reader.allow(eventKeys);
  const mode = readMode(reader);
  const name = readName(reader);
  const on = reader.oneOf("on", eventKinds, true);
  if (on === undefined) {
    reader.text("summary", true);
    reader.oneOf("severity", severities, true);
    return undefined;
  }
  const labels = readLabels(reader);
  const runbook = readRunbook(reader);
  const visible = visibleToEvents[on];
  const select = readSelect(
    reader,
    { wallet: visible.includes("wallet"), symbol: visible.includes("market"), pair: false },
    watched,
  );
  const severity = reader.oneOf("severity", severities, true);
  const gathered = new Gathered(
    staleness(undefined, context.input.scheduleMs, context.input.stretchedAgesMs),
    context.input.retentionMs,
    context.values,
  );
  const naming: Naming = {
    scopes: visible,
    event: { kind: on, name: "event" },
    value: null,
    countable: null,
  };
  const when = reader.has("when")
    ? readExpression(reader, "when", "condition", naming, gathered, watched)
    : always;
  const reads = gathered.reads;
  const limits = gathered.neededLimits;
  const named = [...gathered.named];
  const summary = readTemplate(reader, "summary", naming, gathered, watched);
  const description = readTemplate(reader, "description", naming, gathered, watched);
  refuseMarketLimits(reader, select, gathered, watched);
  const throttleMs = reader.durationMs("throttle", 1_000) ?? null;
  if (throttleMs !== null && severity === "critical")
    reader.problem("throttle", { message: "a critical event is never held back: throttle is refused here" });
  const acknowledge = reader.oneOf("acknowledge", ackWords) ?? null;
  if (acknowledge !== null && on !== "notification")
    reader.problem("acknowledge", { message: "only notifications can be acknowledged to the exchange" });
  if (wrong || name === undefined || severity === undefined || when === undefined || summary === undefined)
    return undefined;

  warnOfLimits(reader, name, select, limits, context);
  const { file, line } = reader.place(null);
  return {
    kind: "event",
    name,
    on,
    select,
    when: when as Compiled<boolean>,
    severity,
    labels,
    summary,
    description: description ?? null,
    runbook,
    throttleMs,
    acknowledge,
    reads,
    shows: gathered.reads,
    needsSession: on === "notification" || needsSession(reads),
    windows: gathered.windows,
    staleAfterMs: gathered.staleAfterMs,
    mode,
    fingerprint: fingerprintOf([
      on,
      when.text,
      ...(mode === "shadow" ? [mode] : []),
      ...(named.length > 0 ? [named] : []),
    ]),
    file,
    line,
  };
}
