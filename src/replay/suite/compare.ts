/** Compares a test's expectations with the results, and shows the difference as lines. */
import { titleOf } from "../../alerts/pending/reported.ts";
import type { Alert, AlertChange } from "../../domain/alerts/alert.ts";
import type { ReplayedMessage } from "../delivery.ts";
import type { DataStateName, ExpectedAlert, ExpectedMessage, Wording } from "./suite.ts";

/** An alert, or a pending one, at the time of the expectation. */
export interface FoundAlert {
  readonly rule: string;
  readonly subject: string;
  readonly state: "pending" | "firing" | "ended" | "event";
  readonly severity: string;
  /** Null while it is pending. */
  readonly alert: Alert | null;
}

/** One line of a difference: as expected, missing (`-`), or not expected (`+`). */
export interface DiffLine {
  readonly mark: " " | "-" | "+";
  readonly text: string;
  /** The line of the expectation. */
  readonly line?: number;
}

/** The data state of a rule about a subject; subject null: about any subject that it cannot judge. */
export type DataStateOf = (
  rule: string,
  subject: string | null,
) => { readonly state: DataStateName; readonly detail: string };

/** @returns null where both agree */
export function compareAlerts(
  all: readonly ExpectedAlert[],
  found: readonly FoundAlert[],
  dataStateOf: DataStateOf,
): readonly DiffLine[] | null {
  const left = [...found];
  const lines: DiffLine[] = [];
  let isEqual = true;
  for (const { rule, subject, dataState, line } of all) {
    if (dataState === null) continue;
    const is = dataStateOf(rule, subject);
    if (is.state === dataState) continue;
    isEqual = false;
    const what = `${rule} ${subject ?? "(any)"} data`;
    lines.push({ mark: "-", text: `${what} ${dataState}`, line });
    lines.push({ mark: "+", text: `${what} ${is.state}${is.detail === "" ? "" : `: ${is.detail}`}` });
  }
  // An expectation may state a data state alone.
  const expected = all.filter((one) => one.dataState === null || one.state !== null || one.severity !== null);
  const missing: ExpectedAlert[] = [];
  for (const one of expected) {
    const at = left.findIndex((other) => differences(one, other).length === 0);
    if (at < 0) missing.push(one);
    else lines.push({ mark: " ", text: foundText(left.splice(at, 1)[0]!, one), line: one.line });
  }
  for (const one of missing) {
    isEqual = false;
    lines.push({ mark: "-", text: expectedText(one), line: one.line });
    // The alert that was probably meant is shown next to it, with all expected keys.
    const same = (other: FoundAlert) =>
      other.rule === one.rule && (one.subject === null || other.subject === one.subject);
    const live = left.findIndex((other) => same(other) && other.state !== "ended");
    const at = live >= 0 ? live : left.findIndex(same);
    if (at >= 0) lines.push({ mark: "+", text: foundText(left.splice(at, 1)[0]!, one) });
  }
  // Alerts that ended earlier are compared only if they are expected.
  for (const one of left) {
    if (one.state === "ended") continue;
    isEqual = false;
    lines.push({ mark: "+", text: foundText(one, null) });
  }
  return isEqual ? null : lines;
}

/** The keys that differ. */
function differences(expected: ExpectedAlert, found: FoundAlert): string[] {
  const { alert } = found;
  const different: string[] = [];
  const check = (key: string, same: boolean): void => {
    if (!same) different.push(key);
  };
  check("rule", expected.rule === found.rule);
  if (expected.subject !== null) check("subject", expected.subject === found.subject);
  check("state", stateFits(expected, found));
  if (expected.severity !== null) check("severity", expected.severity === found.severity);
  if (expected.ending !== null) check("ending", expected.ending === alert?.ending);
  if (expected.value !== null) check("value", isNear(expected.value, alert?.value ?? null));
  if (expected.alreadySo !== null) check("alreadySo", expected.alreadySo === (alert?.alreadySo ?? false));
  if (expected.acknowledged !== null)
    check("acknowledged", expected.acknowledged === ((alert?.acknowledgedAtMs ?? null) !== null));
  if (expected.summary !== null) check("summary", expected.summary === alert?.summary);
  if (expected.description !== null) check("description", expected.description === alert?.description);
  for (const [label, value] of Object.entries(expected.labels ?? {}))
    check("labels", alert?.labels[label] === value);
  return different;
}

function stateFits(expected: ExpectedAlert, found: FoundAlert): boolean {
  if (expected.state !== null) return expected.state === found.state;
  return found.state === "firing" || found.state === "event";
}

/** Compares with a relative tolerance of 1e-9. */
function isNear(expected: number, found: number | null): boolean {
  if (found === null) return false;
  if (!Number.isFinite(expected)) return expected === found;
  return Math.abs(expected - found) <= 1e-9 * Math.max(1, Math.abs(expected));
}

function expectedText(one: ExpectedAlert): string {
  const parts = [one.rule, one.subject ?? "(any)", one.state ?? "firing"];
  if (one.severity !== null) parts.push(one.severity);
  if (one.ending !== null) parts.push(`(${one.ending})`);
  return withValues(parts.join(" "), one, {
    value: one.value,
    alreadySo: one.alreadySo,
    acknowledged: one.acknowledged,
    summary: one.summary,
    description: one.description,
    labels: one.labels,
  });
}

function foundText(
  { rule, subject, state, severity, alert }: FoundAlert,
  asked: ExpectedAlert | null,
): string {
  const ending = state === "ended" ? ` (${alert?.ending})` : "";
  const text = `${rule} ${subject} ${state} ${severity}${ending}`;
  if (asked === null) return alert === null ? text : `${text}: ${alert.summary}`;
  const wanted = asked.labels;
  return withValues(text, asked, {
    value: alert?.value ?? null,
    alreadySo: alert?.alreadySo ?? false,
    acknowledged: (alert?.acknowledgedAtMs ?? null) !== null,
    summary: alert?.summary ?? "",
    description: alert?.description ?? "",
    labels:
      wanted === null
        ? null
        : Object.fromEntries(Object.keys(wanted).map((label) => [label, alert?.labels[label] ?? ""])),
  });
}

/** Appends the values that the expectation states. */
function withValues(
  text: string,
  asked: ExpectedAlert,
  values: Partial<Record<keyof ExpectedAlert, unknown>>,
): string {
  const more = Object.entries(values).flatMap(([key, value]) =>
    asked[key as keyof ExpectedAlert] === null ? [] : [`${key} ${shown(value)}`],
  );
  return more.length === 0 ? text : `${text}, ${more.join(", ")}`;
}

function shown(value: unknown): string {
  if (typeof value === "number") return String(value);
  return value === undefined ? "none" : JSON.stringify(value);
}

/** Compares messages in their order. */
export function compareMessages(
  expected: readonly ExpectedMessage[],
  found: readonly ReplayedMessage[],
  wording: Wording,
): readonly DiffLine[] | null {
  const fits = expected.map((one) => found.map((other) => messageFits(one, other, wording)));
  // The longest common subsequence.
  const length = Array.from({ length: expected.length + 1 }, () =>
    new Array<number>(found.length + 1).fill(0),
  );
  for (let i = expected.length - 1; i >= 0; i--) {
    for (let j = found.length - 1; j >= 0; j--) {
      length[i]![j] = fits[i]![j]!
        ? length[i + 1]![j + 1]! + 1
        : Math.max(length[i + 1]![j]!, length[i]![j + 1]!);
    }
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < expected.length || j < found.length) {
    const one = expected[i];
    const other = found[j];
    if (one !== undefined && other !== undefined && fits[i]![j]!) {
      lines.push({ mark: " ", text: messageText(other, one, wording), line: one.line });
      i++;
      j++;
    } else if (one !== undefined && (other === undefined || length[i + 1]![j]! >= length[i]![j + 1]!)) {
      lines.push({ mark: "-", text: expectedMessageText(one), line: one.line });
      i++;
    } else if (other !== undefined) {
      lines.push({ mark: "+", text: messageText(other, expected[i - 1] ?? expected[i] ?? null, wording) });
      j++;
    }
  }
  return lines.some(({ mark }) => mark !== " ") ? lines : null;
}

function partsOf({ changes, receiver, folded }: ReplayedMessage, wording: Wording) {
  const [first] = changes;
  const of = (change: AlertChange | undefined) => change?.alert;
  return {
    to: receiver,
    lead: first === undefined ? "" : wording.lead(first),
    title: titleOf(changes, folded),
    rule: of(first)?.rule ?? "",
    subject: of(first)?.subject ?? "",
    severity: of(first)?.severity ?? "",
    summary: of(first)?.summary ?? "",
    description: of(first)?.description ?? "",
  };
}

const messageParts = [
  "to",
  "lead",
  "title",
  "rule",
  "subject",
  "severity",
  "summary",
  "description",
] as const;

function messageFits(expected: ExpectedMessage, found: ReplayedMessage, wording: Wording): boolean {
  const parts = partsOf(found, wording);
  return messageParts.every((key) => expected[key] === null || expected[key] === parts[key]);
}

function expectedMessageText(one: ExpectedMessage): string {
  return messageParts
    .flatMap((key) => (one[key] === null ? [] : [`${key} ${JSON.stringify(one[key])}`]))
    .join(", ");
}

function messageText(message: ReplayedMessage, asked: ExpectedMessage | null, wording: Wording): string {
  const parts = partsOf(message, wording);
  const keys =
    asked === null ? (["lead", "title"] as const) : messageParts.filter((key) => asked[key] !== null);
  return keys.map((key) => `${key} ${JSON.stringify(parts[key])}`).join(", ");
}
