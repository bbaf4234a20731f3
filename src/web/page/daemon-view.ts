/**
 * The daemon's state: outbox, schedules, and internals. The function is sent to the browser as source text, so its body
 * may not refer to anything outside of it, except types.
 */
import type { Format, Safe } from "./format.ts";
import type { Answer, Connection, Parts } from "./parts.ts";

export type DaemonView = ReturnType<typeof createDaemonView>;

export function createDaemonView(format: Format, parts: Parts) {
  const { html, numeric, amount, percent, count, bytes, span, clock, plural } = format;
  const { none, when } = parts;

  function channels(status: Answer): Safe {
    const rows = status.channels.map((channel) => {
      const waiting = numeric(channel.waiting) ?? 0;
      const dead = numeric(channel.dead) ?? 0;
      const well = channel.working && !channel.retrying;
      return html`<li data-key="${channel.name}"><span class="dot ${well ? "ok" : channel.working ? "warning" : "critical"}"></span><div><strong>${channel.name}</strong> <span class="note">${channel.kind}</span>${when(
        !well || channel.detail !== "",
        () =>
          html`<p class="${well ? "note" : "bad"}">${channel.working ? (channel.retrying ? "retrying: " : "") : "broken: "}${channel.detail === "" ? "cannot be used" : channel.detail}</p>`,
      )}</div><span class="end">${
        waiting > 0 ? html`<b>${count(waiting)} waiting</b>` : html`<span class="note">nothing waits</span>`
      }<span class="note">${waiting > 0 ? `oldest ${span(numeric(channel.oldestWaitingMs))} · ` : ""}${count(numeric(channel.delivered))} delivered since start${
        dead > 0 ? html` · <b class="bad">${count(dead)} given up</b>` : none
      }</span></span></li>`;
    });
    return html`<h2>Outbox</h2>${rows.length === 0 ? html`<p class="calm">No channel is configured.</p>` : html`<ul class="rows">${rows}</ul>`}`;
  }

  type Schedule = Answer["schedules"][number];

  /** One line per source, with the delay of its latest wallet. */
  function schedules(status: Answer, { nowMs }: Connection): Safe {
    const bySource = new Map<string, Schedule[]>();
    for (const schedule of status.schedules) {
      const of = bySource.get(schedule.source);
      if (of) of.push(schedule);
      else bySource.set(schedule.source, [schedule]);
    }
    const rows = [...bySource].map(([source, of]) => scheduleRow(source, of, nowMs));
    return html`<h2>Schedules</h2>${
      rows.length === 0
        ? html`<p class="calm">Nothing is scheduled yet.</p>`
        : html`<ul class="rows">${rows}</ul>`
    }`;
  }

  function scheduleRow(source: string, of: readonly Schedule[], nowMs: number): Safe {
    let [shortest, longest, latestMs] = [Number.POSITIVE_INFINITY, 0, 0];
    let [oldestMs, tight]: [number | null, boolean] = [null, true];
    for (const one of of) {
      const everyMs = numeric(one.everyMs) ?? 0;
      const lastOkMs = numeric(one.lastOkMs);
      [shortest, longest] = [Math.min(shortest, everyMs), Math.max(longest, everyMs)];
      if (lastOkMs === null) continue;
      const lateMs = nowMs - lastOkMs - everyMs;
      oldestMs = Math.max(oldestMs ?? 0, nowMs - lastOkMs);
      latestMs = Math.max(latestMs, lateMs);
      if (lateMs > Math.max(2 * everyMs, 5_000)) tight = false;
    }
    const failing = of.filter((one) => (numeric(one.failuresInRow) ?? 0) > 0);
    const tone = failing.length > 0 ? "critical" : !tight ? "warning" : oldestMs === null ? "quiet" : "ok";
    const rhythm = shortest === longest ? every(shortest) : `${every(shortest)} to ${every(longest)}`;
    const last = failing.map((one) => one.lastFailure).find((failure) => failure !== null);
    const older = of.map((one) => one.catchUpFailure).find((failure) => failure !== null);
    const who = of.length === 1 ? "" : `${count(failing.length)} of ${count(of.length)} failing: `;
    const times = failing.reduce((most, one) => Math.max(most, numeric(one.failuresInRow) ?? 0), 0);
    return html`<li data-key="${source}"><span class="dot ${tone}"></span><div><strong>${source}</strong>
      <span class="note">every ${rhythm}${of.length > 1 ? ` · ${count(of.length)} wallets` : ""}</span>${when(
        failing.length > 0,
        () =>
          html`<p class="bad">${who}${last ? `${last.reason}, ${last.detail}` : "failing"} (${count(times)} in a row)</p>`,
      )}${when(
        older !== undefined,
        () =>
          html`<p class="bad">older pages cannot be read: ${older!.reason}, ${older!.detail} (${plural(numeric(older!.times) ?? 0, "time")})</p>`,
      )}</div><span class="end">${
        oldestMs === null
          ? html`<span class="note">not read yet</span>`
          : html`<b>${span(oldestMs)} ago</b><span class="note">${latestMs > 1_000 ? `${span(latestMs)} late` : "on time"}</span>`
      }</span></li>`;
  }

  function every(ms: number): string {
    return span(ms).replace(".0 s", " s").replace(" 00 s", "").replace(" 00 min", "");
  }

  const fact = (label: string, text: string, note = "", tone = "") =>
    html`<div class="${tone}"><dt>${label}</dt><dd>${text}${when(note !== "", () => html`<small>${note}</small>`)}</dd></div>`;

  /** The exchange's state. During an outage the last report is shown as last known only. */
  function exchange({ watch, outage, requests }: Answer, nowMs: number): Safe {
    const { active, gated, withdrawalsAvailable } = watch.exchange;
    const known = [
      active === null ? "not seen yet" : active ? "trading" : "not trading",
      ...(gated === true ? ["access restricted"] : []),
      ...(withdrawalsAvailable === false ? ["no withdrawals"] : []),
    ].join(", ");
    const { limited } = requests;
    if (outage === null && limited) {
      const sinceMs = numeric(limited.sinceMs) ?? nowMs;
      return fact(
        "Exchange",
        "limits requests",
        `since ${clock(sinceMs, nowMs)} · last known: ${known}`,
        "bad",
      );
    }
    if (outage === null) return fact("Exchange", known, "", active === false ? "bad" : "");
    const since = clock(numeric(outage.sinceMs) ?? nowMs, nowMs);
    return fact("Exchange", outage.what, `since ${since}: ${outage.detail} · last known: ${known}`, "bad");
  }

  function streams({ streams }: Answer): Safe[] {
    if (!streams) return [];
    const { connections } = streams;
    const down = connections.filter((one) => !one.connected);
    const missed = numeric(streams.missed) ?? 0;
    const notes = [
      ...down.map((one) => `${one.wallet ?? "public"}: ${one.detail}`).slice(0, 3),
      ...(missed > 0 ? [`${plural(missed, "change")} left out`] : []),
    ];
    const stand = `${connections.length - down.length} of ${plural(connections.length, "connection")}`;
    return [fact("Streams", stand, notes.join(" · "), down.length > 0 ? "caution" : "")];
  }

  function daemon(status: Answer, { nowMs }: Connection): Safe {
    const { requests, database, acknowledgements, watch } = status;
    const n = (value: Parameters<typeof numeric>[0]) => numeric(value) ?? 0;
    const offset = n(status.clockOffsetMs);
    const { granted, limited } = requests;
    const limits = [
      ...(limited
        ? [
            `refused since ${clock(n(limited.sinceMs), nowMs)}, asked again at ${clock(n(limited.untilMs), nowMs)}`,
          ]
        : []),
      ...(granted ? [`granted by the exchange since ${clock(n(granted.sinceMs), nowMs)}`] : []),
    ];
    return html`<h2>Daemon</h2><dl class="pairs">${[
      fact("Running", span(nowMs - n(status.startedMs)), `since ${clock(n(status.startedMs), nowMs)}`),
      exchange(status, nowMs),
      fact(
        "Requests",
        `${percent(numeric(requests.used))} of ${amount(numeric(requests.ratePerSecond))}/s`,
        [...limits, `${plural(n(requests.waiting), "request")} waiting`].join(" · "),
        limits.length > 0 ? "caution" : "",
      ),
      ...streams(status),
      fact(
        "Database",
        bytes(n(database.bytes)),
        n(database.waitingCommits) > 0
          ? `${plural(n(database.waitingCommits), "commit")} waiting`
          : database.path,
        n(database.waitingCommits) > 0 ? "bad" : "",
      ),
      fact(
        "Notifications",
        `${count(numeric(acknowledgements.confirmed))} acknowledged since start`,
        `${count(numeric(acknowledgements.waiting))} waiting · ${count(numeric(acknowledgements.due))} due · ${count(numeric(acknowledgements.left))} left unacknowledged`,
      ),
      fact(
        "Clock",
        `${offset < 0 ? "−" : "+"}${Math.abs(offset).toFixed(0)} ms`,
        "ours less the exchange's",
        Math.abs(offset) > 2_000 ? "bad" : "",
      ),
      fact(
        "Loop lag",
        `${n(status.loopLagMs).toFixed(0)} ms`,
        "",
        n(status.loopLagMs) > 500 ? "caution" : "",
      ),
      fact(
        "Rules",
        count(numeric(watch.rules)),
        n(watch.viewMismatches) > 0
          ? `${plural(n(watch.viewMismatches), "difference")} from the exchange's own figures`
          : "",
      ),
    ]}</dl>`;
  }

  return { channels, schedules, daemon };
}
