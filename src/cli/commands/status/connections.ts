/** Tables of channels, schedules and streams. */
import { formatDurationMs } from "../../../domain/text/duration.ts";
import { stretchedText } from "../../../domain/text/source-words.ts";
import { ago, counted, type Paint } from "../../terminal/print.ts";
import { table } from "../../terminal/table.ts";
import { numberOf, type Status } from "./answer.ts";

export function channelTable(status: Status, paint: Paint): string {
  const rows = status.channels.map((channel) => [
    channel.name,
    channel.kind,
    channelState(channel, paint),
    String(channel.waiting),
    channel.oldestWaitingMs === null ? "" : formatDurationMs(Number(channel.oldestWaitingMs)),
    String(channel.delivered),
    Number(channel.dead) === 0 ? "0" : paint("red", String(channel.dead)),
    channel.detail,
  ]);
  const right = (title: string) => ({ title, right: true });
  return table(
    [
      "channel",
      "kind",
      "state",
      right("waiting"),
      "oldest",
      right("delivered since start"),
      right("given up"),
      "detail",
    ],
    rows,
    paint,
  );
}

function channelState({ working, retrying }: Status["channels"][number], paint: Paint): string {
  if (!working) return paint("red", "broken");
  return retrying ? paint("yellow", "retrying") : paint("green", "working");
}

export function scheduleTable(status: Status, paint: Paint): string {
  const nowMs = Number(status.nowMs);
  const rows = status.schedules.map((schedule) => {
    const { source, wallet, everyMs, lastOkMs, lastFailure, failuresInRow, catchUpFailure } = schedule;
    const last = numberOf(lastOkMs);
    const every = Number(everyMs);
    const age = ago(last, nowMs);
    const isLate = last === null || nowMs - last > 3 * every;
    const reasons: string[] = [];
    if (Number(failuresInRow) > 0 && lastFailure !== null)
      reasons.push(
        `${counted(Number(failuresInRow), "failure")}, ${lastFailure.reason}: ${lastFailure.detail}`,
      );
    if (catchUpFailure !== null)
      reasons.push(
        `older pages: ${counted(Number(catchUpFailure.times), "failure")}, ${catchUpFailure.reason}: ${catchUpFailure.detail}`,
      );
    const failure = reasons.join("; ");
    return [
      source,
      wallet ?? "exchange",
      formatDurationMs(every),
      isLate ? paint("yellow", age) : age,
      failure === "" ? "" : paint("red", failure),
    ];
  });
  return table(["schedule", "of", "every", "last read", "failing"], rows, paint);
}

/** Sources that the request rate lets be read less often than configured. */
export function stretchedLine({ stretched = [] }: Status, paint: Paint): string {
  if (stretched.length === 0) return "";
  return `\n${paint("yellow", stretchedText(stretched.map((one) => ({ ...one, staleAfterMs: Number(one.staleAfterMs), usuallyMs: Number(one.usuallyMs) }))))}`;
}

export function streamTable(status: Status, paint: Paint): string {
  const nowMs = Number(status.nowMs);
  const right = (title: string) => ({ title, right: true });
  const rows = (status.streams?.connections ?? []).map((one) => {
    const sinceMs = numberOf(one.sinceMs);
    return [
      one.wallet ?? "public",
      one.connected ? paint("green", one.detail) : paint("yellow", one.detail),
      sinceMs === null ? "–" : formatDurationMs(Math.max(0, nowMs - sinceMs)),
      ago(numberOf(one.lastToldMs), nowMs),
      String(one.frames),
      String(one.badFrames),
      String(one.reconnects),
    ];
  });
  const titles = [
    "stream",
    "state",
    "for",
    "last message",
    right("frames"),
    right("bad"),
    right("reconnects"),
  ];
  const missed = Number(status.streams?.missed ?? 0);
  const note = missed === 0 ? "" : `\n${counted(missed, "change")} that polls showed and the stream did not`;
  return table(titles, rows, paint) + note;
}
