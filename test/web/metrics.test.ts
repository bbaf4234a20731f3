import { expect, test } from "vitest";
import { openLoggedIn } from "./open.ts";
import { nowMs, position, status } from "./world.ts";

interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A strict parser of Prometheus's text format; throws on any deviation. */
function parse(text: string) {
  const kinds = new Map<string, string>();
  const helps = new Set<string>();
  const series: Series[] = [];
  if (!text.endsWith("\n")) throw new Error("the last line has no end");
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const help = /^# HELP ([a-zA-Z_:][\w:]*) .+$/.exec(line);
    const type = /^# TYPE ([a-zA-Z_:][\w:]*) (counter|gauge|histogram|summary|untyped)$/.exec(line);
    const row = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\+Inf|-Inf|NaN|[-+.\deE]+)$/.exec(line);
    if (help) {
      if (helps.has(help[1]!)) throw new Error(`${help[1]} is explained twice`);
      helps.add(help[1]!);
    } else if (type) kinds.set(type[1]!, type[2]!);
    else if (row) {
      const value = Number(row[3]!.replace("Inf", "Infinity"));
      if (Number.isNaN(value) && row[3] !== "NaN") throw new Error(`no number: ${line}`);
      series.push({ name: row[1]!, labels: labelsOf(row[2] ?? "", line), value });
    } else throw new Error(`no line of the format: ${line}`);
  }
  const names = series.map(({ name, labels }) => `${name}${JSON.stringify(labels)}`);
  if (new Set(names).size !== names.length) throw new Error("a series stands there twice");
  return { kinds, helps, series };
}

function labelsOf(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {};
  let rest = text;
  while (rest !== "") {
    const label = /^([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/.exec(rest);
    if (!label) throw new Error(`bad labels: ${line}`);
    labels[label[1]!] = label[2]!.replace(/\\(.)/g, (_all, letter: string) =>
      letter === "n" ? "\n" : letter,
    );
    rest = rest.slice(label[0].length);
  }
  return labels;
}

const figure = ({ series }: { readonly series: readonly Series[] }, name: string, labels: object = {}) =>
  series.find((one) => one.name === name && JSON.stringify(one.labels) === JSON.stringify(labels))?.value;

test("the daemon's figures and those of what it watches, in Prometheus's format", async () => {
  await using daemon = await openLoggedIn();
  const reply = await daemon.overTcp("/metrics");
  expect(reply.headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
  const metrics = parse(reply.text);
  for (const { name } of metrics.series.filter(({ name: one }) => one.startsWith("perpwatch_"))) {
    expect(metrics.helps).toContain(name);
    expect(metrics.kinds.get(name)).toBe(name.endsWith("_total") ? "counter" : "gauge");
  }
  const expected: [string, object, number | undefined][] = [
    ["perpwatch_build_info", { version: "0.1.0" }, 1],
    ["perpwatch_state", { state: "running" }, 1],
    ["perpwatch_state", { state: "degraded" }, 0],
    ["perpwatch_ready", {}, 1],
    ["perpwatch_alerts_firing", { severity: "critical" }, 1],
    ["perpwatch_alerts_firing", { severity: "info" }, 1],
    ["perpwatch_alerts_pending", { severity: "warning" }, 0],
    ["perpwatch_blind", {}, 1],
    ["perpwatch_rule_state", { rule: "LiquidationNear", state: "ok" }, 2],
    ["perpwatch_rule_state", { rule: "LiquidationNear", state: "noData" }, 1],
    ["perpwatch_rule_state", { rule: "Trial", state: "error" }, 1],
    ["perpwatch_alerts_shadow", {}, 0],
    ["perpwatch_request_ceiling_per_second", {}, 20],
    ["perpwatch_database_bytes", {}, 48_230_400],
    ["perpwatch_clock_offset_seconds", {}, 0.0124],
    ["perpwatch_stream_connected", { wallet: "" }, 1],
    ["perpwatch_stream_connected", { wallet: "main" }, 0],
    ["perpwatch_stream_age_seconds", { wallet: "" }, 0.25],
    ["perpwatch_stream_bad_frames_total", { wallet: "" }, 1],
    ["perpwatch_stream_reconnects_total", { wallet: "" }, 2],
    ["perpwatch_stream_missed_total", {}, 1],
    ["perpwatch_channel_waiting", { channel: "mail", kind: "email" }, 4],
    ["perpwatch_channel_oldest_waiting_seconds", { channel: "mail", kind: "email" }, 540],
    ["perpwatch_channel_working", { channel: "mail", kind: "email" }, 0],
    ["perpwatch_channel_dead_total", { channel: "mail", kind: "email" }, 1],
    ["perpwatch_channel_failures_total", { channel: "chat", kind: "discord", failure: "rate-limited" }, 3],
    ["perpwatch_acknowledgements", { state: "left" }, 5],
    ["perpwatch_schedule_age_seconds", { source: "traderState", wallet: "main" }, 0.8],
    ["perpwatch_schedule_age_seconds", { source: "funding", wallet: "main" }, undefined],
    ["perpwatch_schedule_failures_in_row", { source: "traderState", wallet: "watched" }, 12],
    ["perpwatch_schedule_interval_seconds", { source: "markets", wallet: "" }, 2],
    ["perpwatch_exchange_withdrawals_available", {}, 1],
    ["perpwatch_market_mark_price", { symbol: "SOL" }, 142.75],
    ["perpwatch_market_open_interest", { symbol: "SOL" }, undefined],
    ["perpwatch_wallet_data_age_seconds", { wallet: "watched" }, 74],
    ["perpwatch_wallet_signed_in", { wallet: "main" }, 1],
    ["perpwatch_wallet_signed_in", { wallet: "watched" }, undefined],
    ["perpwatch_wallet_unacked", { wallet: "main" }, 3],
    ["perpwatch_wallet_equity", { wallet: "desk" }, 264_500],
    ["perpwatch_trader_margin_ratio", { wallet: "main", account: "main/0.0" }, 0.871],
    ["perpwatch_trader_margin_ratio", { wallet: "main", account: "main/0.2" }, Number.POSITIVE_INFINITY],
    ["perpwatch_trader_equity", { wallet: "main", account: "main/0.2" }, undefined],
    ["perpwatch_trader_orders", { wallet: "desk", account: "desk/0.0" }, 14],
    [
      "perpwatch_position_liquidation_distance",
      { wallet: "main", account: "main/0.0", symbol: "SOL" },
      0.0312,
    ],
    [
      "perpwatch_position_liquidation_distance",
      { wallet: "main", account: "main/0.1", symbol: "BTC" },
      Number.POSITIVE_INFINITY,
    ],
    ["perpwatch_position_size", { wallet: "main", account: "main/0.0", symbol: "ETH" }, -12.5],
  ];
  for (const [name, labels, value] of expected)
    expect([name, labels, figure(metrics, name, labels)]).toEqual([name, labels, value]);
  // Metrics of the process itself.
  expect(figure(metrics, "process_resident_memory_bytes")).toBeGreaterThan(1e6);
});

test("each scrape has the current state, without former subjects", async () => {
  let now = status();
  await using daemon = await openLoggedIn({ status: () => now });
  const series = async () => parse((await daemon.overSocket("/metrics")).text);
  const place = { wallet: "main", account: "main/0.0", symbol: "SOL" };
  expect(figure(await series(), "perpwatch_position_mark_price", place)).toBe(142.75);
  expect(
    figure(await series(), "perpwatch_channel_delivered_total", { channel: "chat", kind: "discord" }),
  ).toBe(212);
  now = { ...now, watch: { ...now.watch, wallets: [] } };
  expect(figure(await series(), "perpwatch_position_mark_price", place)).toBeUndefined();
});

test("names from outside cannot break the format", async () => {
  const base = status();
  const [desk] = base.watch.wallets;
  const nasty = 'a"b\\c\nd 1';
  const flat = position("desk/0.0", nasty, {
    size: Number.NaN,
    markPrice: 1e-9,
    notional: Number.NEGATIVE_INFINITY,
  });
  const account = { ...desk!.accounts[0]!, positions: [flat] };
  const watch = { ...base.watch, wallets: [{ ...desk!, accounts: [account] }] };
  await using daemon = await openLoggedIn({ status: () => ({ ...base, watch, startedMs: nowMs }) });
  const metrics = parse((await daemon.overTcp("/metrics")).text);
  const place = { wallet: "desk", account: "desk/0.0", symbol: nasty };
  expect(figure(metrics, "perpwatch_position_mark_price", place)).toBe(1e-9);
  expect(figure(metrics, "perpwatch_position_notional", place)).toBe(Number.NEGATIVE_INFINITY);
  expect(figure(metrics, "perpwatch_position_size", place)).toBeUndefined();
});
