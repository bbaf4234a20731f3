/** The first lines, about the daemon and the exchange, and the last, a line for each of its parts. */
import { formatDurationMs } from "../../../domain/text/duration.ts";
import { counted, type Paint } from "../../terminal/print.ts";
import { ageOf, numberOf, type Show, type Status, type Time } from "./answer.ts";

export function headline(status: Status, paint: Paint, time: Time): string {
  const { watch, state } = status;
  const tint = state === "running" ? "green" : state === "degraded" ? "red" : "yellow";
  const upMs = Number(status.nowMs) - Number(status.startedMs);
  return [
    `perpwatch ${status.version} is ${paint(tint, state)}, for ${formatDurationMs(upMs)}, ` +
      `with ${counted(Number(watch.rules), "rule")}`,
    `exchange: ${exchangeText(status, paint, time)}`,
  ].join("\n");
}

/** The exchange's state in words. The last report does not count while the daemon cannot be asked. */
function exchangeText(status: Status, paint: Paint, time: Time): string {
  const { active, gated, withdrawalsAvailable, seenMs } = status.watch.exchange;
  const known = [
    active === null ? "not seen yet" : active ? "trading" : paint("red", "trading is off"),
    ...(gated === true ? [paint("yellow", "admission gated")] : []),
    ...(withdrawalsAvailable === false ? [paint("yellow", "no withdrawals")] : []),
  ].join(", ");
  const { outage } = status;
  if (outage !== null) {
    const sinceMs = Number(outage.sinceMs);
    const lasting = formatDurationMs(Math.max(0, Number(status.nowMs) - sinceMs));
    const what = outage.what === "cannot be reached" ? "unreachable" : outage.what;
    return `${paint("red", `${what} since ${time(sinceMs)}`)} (${lasting}: ${outage.detail}), last known: ${known}`;
  }
  const { limited } = status.requests;
  if (limited) {
    const sinceMs = Number(limited.sinceMs);
    const lasting = formatDurationMs(Math.max(0, Number(status.nowMs) - sinceMs));
    return `${paint("red", `refuses requests with 429 since ${time(sinceMs)}`)} (${lasting}), last known: ${known}`;
  }
  const age = ageOf(status, ["exchangeStatus"], null)(numberOf(seenMs));
  return age.stale && seenMs !== null ? `${known}, ${paint("yellow", `as of ${age.text} ago`)}` : known;
}

/** States if somebody elsewhere hears that the daemon lives. */
function heartbeatLine({ heartbeat }: Status, paint: Paint, time: Time): readonly string[] {
  if (!heartbeat) return [];
  const { everyMs, lastOkMs, failure, withheld, failToldMs } = heartbeat;
  const parts = [
    `every ${formatDurationMs(Number(everyMs))}`,
    lastOkMs === null ? "none was taken yet" : `last taken ${time(Number(lastOkMs))}`,
    ...(withheld === null ? [] : [paint("yellow", `withheld: ${withheld}`)]),
    ...(failure === null ? [] : [paint("yellow", `failing: ${failure}`)]),
    ...(failToldMs === null ? [] : [`failUrl called ${time(Number(failToldMs))}`]),
  ];
  return [`heartbeat: ${parts.join(", ")}`];
}

/** The differences between the exchange's inboxes and what is known here. */
function auditLines({ inbox }: Status, paint: Paint, time: Time): readonly string[] {
  return (inbox?.audits ?? []).map(({ wallet, atMs, failure, differences, lasting, left }) => {
    const at = time(Number(atMs));
    if (failure !== null) return `inbox of ${wallet}: ${paint("yellow", `not audited at ${at}: ${failure}`)}`;
    const found = counted(Number(differences), "difference");
    const differs =
      Number(differences) === 0
        ? "agrees with what is known here"
        : paint(Number(lasting) > 0 ? "red" : "yellow", `${found}, ${lasting} not for the first time`);
    return `inbox of ${wallet}: ${differs}, ${left} left unacknowledged, as of ${at}`;
  });
}

/** The last fire drill, and its result. */
function drillLine({ drill }: Status, paint: Paint, time: Time): readonly string[] {
  if (!drill || (drill.last === null && drill.nextMs === null)) return [];
  const { last, nextMs } = drill;
  const failed = last?.channels.filter(({ failure }) => failure !== null).map(({ channel }) => channel) ?? [];
  const result =
    failed.length === 0
      ? paint("green", "every channel took it")
      : paint("red", `not taken by ${failed.join(", ")}`);
  const before = last === null ? "none yet" : `${time(Number(last.atMs))} by ${last.by}, ${result}`;
  return [`fire drill: ${before}${nextMs === null ? "" : `; next ${time(Number(nextMs))}`}`];
}

function requestsLine({ requests }: Status, show: Show, paint: Paint, time: Time): string {
  const { used, ratePerSecond, ceilingPerSecond, waiting, granted, limited } = requests;
  const bounds = [
    ceilingPerSecond === null ? "no ceiling" : `ceiling ${show(ceilingPerSecond, "count")}/s`,
    ...(granted ? [`granted by the exchange since ${time(Number(granted.sinceMs))}`] : []),
  ];
  const line = `requests: ${show(used, "ratio")} of ${show(ratePerSecond, "count")}/s (${bounds.join(", ")}), ${waiting} waiting`;
  if (!limited) return line;
  const until = `asked again at ${time(Number(limited.untilMs))}`;
  return `${line}; ${paint("red", `refused with 429 since ${time(Number(limited.sinceMs))}, ${until}`)}`;
}

function clockText(offsetMs: number, show: Show): string {
  if (offsetMs === 0) return "as the exchange's";
  return `${show(Math.abs(offsetMs), "duration")} ${offsetMs > 0 ? "ahead of" : "behind"} the exchange's`;
}

export function footer(status: Status, show: Show, paint: Paint, time: Time): string {
  const { acknowledgements, database } = status;
  const waitingCommits = Number(database.waitingCommits);
  return [
    requestsLine(status, show, paint, time),
    `acknowledging: ${acknowledgements.waiting} waiting, ${acknowledgements.due} due; since the start ` +
      `${acknowledgements.confirmed} confirmed, ${acknowledgements.left} left unacknowledged`,
    ...auditLines(status, paint, time),
    ...drillLine(status, paint, time),
    ...heartbeatLine(status, paint, time),
    `database: ${database.path}, ${show(database.bytes, "bytes")}` +
      (waitingCommits === 0 ? "" : `, ${counted(waitingCommits, "commit")} waiting`),
    `clock: ${clockText(Number(status.clockOffsetMs), show)}; event loop late by ${show(status.loopLagMs, "duration")} at most`,
  ].join("\n");
}
