/**
 * Renders a status to HTML, by the id of the element. Pure: times are passed in. The function is sent to the browser as
 * source text, so its body may not refer to anything outside of it, except types.
 *
 * The most urgent entries come first, and long lists end with the number of omitted ones.
 */

import type { DaemonView } from "./daemon-view.ts";
import type { Format, Safe } from "./format.ts";
import type { Answer, Connection, Parts } from "./parts.ts";
import type { WalletsView } from "./wallets.ts";

export function createView(format: Format, parts: Parts, wallets: WalletsView, daemonView: DaemonView) {
  const { html, numeric, amount, percent, count, span, clock, plural } = format;
  const {
    rankOf,
    none,
    when,
    badge,
    more,
    distanceOf,
    ratioOf,
    distanceTone,
    ratioTone,
    staleness,
    maxRows,
  } = parts;

  function banner(status: Answer, connection: Connection): Safe {
    const { nowMs, silentMs, failure } = connection;
    if (failure !== null)
      return html`<div class="banner critical" role="alert"><strong>No answer from the daemon for ${span(silentMs)}</strong><span>${failure}. Below is what was known at ${clock(nowMs - silentMs, nowMs)}; it may be different now.</span></div>`;
    const tickMs = nowMs - (numeric(status.watch.atMs) ?? nowMs);
    if (status.state !== "starting" && tickMs > 10_000)
      return html`<div class="banner critical" role="alert"><strong>No rule has been judged for ${span(tickMs)}</strong><span>The daemon answers, but judges no rules. Its log states the reason.</span></div>`;
    if (status.state === "degraded")
      return html`<div class="banner warning" role="alert"><strong>The database takes nothing</strong><span>Critical alerts still leave, from memory. ${plural(numeric(status.database.waitingCommits) ?? 0, "commit")} wait; notifications are not acknowledged meanwhile.</span></div>`;
    if (status.outage !== null) {
      const sinceMs = numeric(status.outage.sinceMs) ?? nowMs;
      return html`<div class="banner critical" role="alert"><strong>The exchange ${status.outage.what}, for ${span(nowMs - sinceMs)}</strong><span>${status.outage.detail}. Positions, prices and margins below are those of ${clock(sinceMs, nowMs)}; they may be different now.</span></div>`;
    }
    const { limited, ratePerSecond } = status.requests;
    if (limited) {
      const [sinceMs, untilMs] = [numeric(limited.sinceMs) ?? nowMs, numeric(limited.untilMs) ?? nowMs];
      return html`<div class="banner warning" role="alert"><strong>The exchange limits requests, for ${span(nowMs - sinceMs)}</strong><span>Refused with HTTP 429 since ${clock(sinceMs, nowMs)}; asked again at ${clock(untilMs, nowMs)}, at most ${amount(numeric(ratePerSecond))} times a second. Ages below say how old each reading is.</span></div>`;
    }
    if (status.state === "starting")
      return html`<div class="banner quiet"><strong>Starting</strong><span>Wallets are being read for the first time.</span></div>`;
    if (status.state === "stopping")
      return html`<div class="banner quiet"><strong>Stopping</strong><span>The daemon is shutting down.</span></div>`;
    return none;
  }

  function summary(status: Answer, connection: Connection): Safe {
    const { wallets, firing, pending } = status.watch;
    const stale = staleness(status, connection);
    const fresh = wallets.filter((wallet) => !stale(wallet).old).length;
    const accounts = wallets.flatMap((wallet) => wallet.accounts);
    const nearest = accounts
      .flatMap((account) => account.positions)
      .map((position) => ({ name: position.name, value: distanceOf(position) }))
      .filter((one) => one.value !== null)
      .reduce<{ name: string; value: number | null } | null>(
        (best, one) => (best === null || one.value! < best.value! ? one : best),
        null,
      );
    const tightest = accounts
      .map((account) => ({ name: account.name, value: ratioOf(account) }))
      .filter((one) => one.value !== null)
      .reduce<{ name: string; value: number | null } | null>(
        (worst, one) => (worst === null || one.value! > worst.value! ? one : worst),
        null,
      );
    const worst = firing.reduce((most, alert) => Math.max(most, rankOf(alert.severity)), -1);
    const waiting = status.channels.reduce((sum, channel) => sum + (numeric(channel.waiting) ?? 0), 0);
    // A message being delivered is normal; one that waits longer is not.
    const stuck = status.channels.some((channel) => (numeric(channel.oldestWaitingMs) ?? 0) > 10_000);
    const broken = status.channels.filter((channel) => !channel.working).length;
    const tile = (tone: string, label: string, value: string, note: string) =>
      html`<div class="tile ${tone}"><dt>${label}</dt><dd><b>${value}</b><small>${note}</small></dd></div>`;
    return html`<dl class="tiles">${[
      tile(
        worst === 2 ? "critical" : worst === 1 ? "warning" : "ok",
        "Firing",
        count(firing.length),
        pending.length > 0
          ? `${count(pending.length)} pending`
          : firing.length > 0
            ? "see below"
            : "all quiet",
      ),
      tile(
        distanceTone(nearest?.value ?? null),
        "Nearest liquidation",
        nearest ? percent(nearest.value) : "–",
        nearest?.name ?? "no open position",
      ),
      tile(
        ratioTone(tightest?.value ?? null),
        "Highest margin ratio",
        tightest ? percent(tightest.value) : "–",
        tightest?.name ?? "no account seen",
      ),
      tile(
        fresh < wallets.length ? "critical" : "ok",
        "Fresh wallets",
        `${count(fresh)} of ${count(wallets.length)}`,
        fresh < wallets.length ? `${count(wallets.length - fresh)} without fresh data` : "data is current",
      ),
      tile(
        broken > 0 ? "critical" : stuck ? "warning" : "ok",
        "Undelivered",
        count(waiting),
        broken > 0 ? `${plural(broken, "channel")} broken` : waiting > 0 ? "on their way" : "outbox is empty",
      ),
    ]}</dl>`;
  }

  function alerts(status: Answer, connection: Connection): Safe {
    const { nowMs } = connection;
    const firing = [...status.watch.firing].sort(
      (a, b) =>
        rankOf(b.severity) - rankOf(a.severity) || (numeric(b.firedAtMs) ?? 0) - (numeric(a.firedAtMs) ?? 0),
    );
    const pending = [...status.watch.pending].sort((a, b) => rankOf(b.severity) - rankOf(a.severity));
    const rows = firing.slice(0, maxRows).map((alert) => {
      const firedAtMs = numeric(alert.firedAtMs) ?? nowMs;
      const notes = [
        ...(nowMs - (numeric(alert.textAtMs) ?? nowMs) > 10_000
          ? [`text as of ${clock(numeric(alert.textAtMs) ?? nowMs, nowMs)}`]
          : []),
        ...(alert.endingWait
          ? ["no longer holds, its end waits for the liquidation history"]
          : alert.gone
            ? ["no longer holds"]
            : []),
        ...(alert.worst ? [`at its worst: ${alert.worst.summary}`] : []),
        ...(alert.alreadySo ? ["already so when watching began"] : []),
        ...(alert.acknowledgedBy === null ? [] : [`acknowledged by ${alert.acknowledgedBy}`]),
      ];
      return html`<li class="alert ${alert.severity}" data-key="a${String(alert.id)}"><div class="lead">${badge(alert.severity, alert.severity)}<strong>${alert.rule}</strong><span class="subject">${alert.subject}</span></div><p>${alert.summary}</p><p class="note">#${String(alert.id)} · for ${span(nowMs - firedAtMs)}, since ${clock(firedAtMs, nowMs)}${notes.map((note) => html` · ${note}`)}</p></li>`;
    });
    const waits = pending
      .slice(0, maxRows)
      .map(
        (one) =>
          html`<li class="line" data-key="p${one.rule}/${one.subject}">${badge(`${one.severity} hollow`, "pending")}<strong>${one.rule}</strong><span class="subject">${one.subject}</span><span class="note">${span(numeric(one.heldMs))} of ${span(numeric(one.forMs))} · since ${clock(numeric(one.sinceMs) ?? nowMs, nowMs)}</span></li>`,
      );
    const blind = status.watch.blind
      .slice(0, maxRows)
      .map(
        (one) =>
          html`<li class="line" data-key="b${one.source}/${one.wallet}">${badge("critical hollow", "no data")}<strong>${one.source}</strong><span class="subject">${one.wallet ?? "the exchange"}</span><span class="note">not seen for ${span(nowMs - (numeric(one.sinceMs) ?? nowMs))} · ${one.rules.length > 0 ? `cannot judge ${one.rules.slice(0, 4).join(", ")}${one.rules.length > 4 ? ` and ${one.rules.length - 4} more` : ""}` : "no rule needs it"}</span></li>`,
      );
    return html`<h2>Alerts</h2>${
      firing.length === 0
        ? html`<p class="calm">Nothing fires. ${plural(numeric(status.watch.rules) ?? 0, "rule")} watch.</p>`
        : html`<ul class="alerts">${rows}</ul>${more(firing.length - rows.length, "alert")}`
    }${when(waits.length > 0, () => html`<ul class="lines">${waits}</ul>${more(pending.length - waits.length, "condition")}`)}${when(
      blind.length > 0,
      () =>
        html`<ul class="lines">${blind}</ul>${more(status.watch.blind.length - blind.length, "missing source")}`,
    )}`;
  }

  /** @returns HTML by element id, the window's title, and `gone`: the data may be outdated */
  return (status: Answer, connection: Connection) => {
    const gone = connection.failure !== null;
    const { firing } = status.watch;
    const critical = firing.some((alert) => alert.severity === "critical");
    const places: Record<string, Safe> = {
      state: html`${badge(gone ? "critical" : status.state === "running" ? "ok" : "warning", gone ? "no answer" : status.state)}<span class="note">${gone ? `silent for ${span(connection.silentMs)}` : clock(connection.nowMs, connection.nowMs)}</span>`,
      banner: banner(status, connection),
      summary: summary(status, connection),
      alerts: alerts(status, connection),
      wallets: wallets(status, connection),
      channels: daemonView.channels(status),
      schedules: daemonView.schedules(status, connection),
      daemon: daemonView.daemon(status, connection),
      version: html`perpwatch ${status.version} · read-only`,
    };
    const mark = gone
      ? "⚠ no answer · "
      : firing.length > 0
        ? `${critical ? "‼" : "!"} ${firing.length} firing · `
        : "";
    return { places, title: `${mark}perpwatch`, gone };
  };
}
