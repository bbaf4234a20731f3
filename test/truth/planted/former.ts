/** Defects that earlier versions had, as they are where the present code avoids them. */
import type { Defect } from "./defects.ts";

const one = (name: string, file: string, from: string, to: string): Defect => ({
  name: `formerly: ${name}`,
  changes: [{ file, from, to }],
});

export const former: readonly Defect[] = [
  one(
    "profit is known while a change of collateral is not explained",
    "src/state/profit/profit.ts",
    "if (!isOpen(range)) return false;",
    "if (range !== null) return false;",
  ),
  one(
    "sums of some of the PDA indices count as known",
    "src/state/wallets/wallets.ts",
    "for (let i = 0; i < pdaIndices.length; i++) if (!seenMs.has(pdaIndices[i]!)) return false;",
    "",
  ),
  one(
    "the liquidation price takes the value of spot collateral as fixed",
    "src/margin/liquidation-price.ts",
    "spots.filter((spot) => spot.repricing?.symbol === leg.symbol)",
    "spots.filter((spot) => spot.repricing === null)",
  ),
  one(
    "a change of a spot balance goes unnoticed",
    "src/state/accounts/account-comparison.ts",
    "    ({ assetIndex, balance }, index) => assetIndex === b[index]!.assetIndex && balance === b[index]!.balance,",
    "    ({ assetIndex }, index) => assetIndex === b[index]!.assetIndex,",
  ),
  {
    name: "formerly: a stop loss is infinitely far away until the answer after the market rules",
    changes: [
      {
        file: "src/state/accounts/account-states.ts",
        from: "    for (const [symbol, { node, state }] of account.positions)\n      positionStateFacts(node.facts, state, this.#markets.risk.get(symbol));\n",
        to: "",
      },
      {
        file: "src/state/accounts/account-facts.ts",
        from: "else delete values.stopLossDistance;",
        to: "else values.stopLossDistance = Number.POSITIVE_INFINITY;",
      },
    ],
  },
  one(
    "the room of a stop loss has the wrong sign for shorts",
    "src/state/accounts/account-facts.ts",
    ": stop.executionPriceTicks - stop.triggerPriceTicks;",
    ": stop.triggerPriceTicks - stop.executionPriceTicks;",
  ),
  one(
    "the close after a partial liquidation is told as a liquidation",
    "src/alerts/endings/liquidations.ts",
    "if (isGone && !waiting.fills.taken && (leftSome ?? this.#isPart(waiting))) return null;",
    "",
  ),
  one(
    "answers slower than their freshness take back the time that a condition held",
    "src/alerts/lifecycle.ts",
    "if (elapsedMs <= 0) return levels;",
    "if (elapsedMs > -1) return levels.map((level) => ({ ...level, heldMs: 0, goneMs: 0 }));",
  ),
  one(
    "prices and positions have no share of a scarce budget",
    "src/exchange/requests/lanes.ts",
    "[lanes.prices]: 60,\n  [lanes.atRisk]: 60,\n  [lanes.state]: 60,",
    "[lanes.prices]: 0.01,\n  [lanes.atRisk]: 0.01,\n  [lanes.state]: 0.01,",
  ),
  one(
    "positions that are old are not judged by new prices",
    "src/evaluate/conditions/old-accounts.ts",
    'if (unknown?.unknown !== "stale" || !oldSources.has(unknown.source) || !readsMarks(rule)) return null;',
    'if (unknown?.unknown !== "uncovered" || !oldSources.has(unknown.source) || !readsMarks(rule)) return null;',
  ),
  one(
    "some reads that fail are told as an exchange that does not answer",
    "src/alerts/own/exchange-silence.ts",
    "return this.isSilent(nowMs) ? { sinceMs: this.#answeredMs } : null;",
    "return this.isSilent(nowMs) || nowMs > 0 ? { sinceMs: this.#answeredMs } : null;",
  ),
  one(
    "no data are a warning, whatever is at stake",
    "src/alerts/own/no-data-extent.ts",
    "const near = risky && stake.near.length > 0;",
    "const near = risky && stake.near.length > 0 && stake.nearest === undefined;",
  ),
  one(
    "a reload forgets the profit of the day",
    "src/engine/restore.ts",
    "if (ours.has(wallet)) this.#parts.today.restore(wallet, kept);",
    "if (ours.has(wallet) && this.#parts.today.order === undefined) this.#parts.today.restore(wallet, kept);",
  ),
  one(
    "a reload forgets the no-data alerts",
    "src/engine/assembly/alerts-stage.ts",
    "before: before?.noData,",
    "before: undefined,",
  ),
  one(
    "a reload forgets which histories were read",
    "src/engine/assembly/state-stage.ts",
    "const completeSince = before?.completeSince ?? new CompletenessTimes();",
    "const completeSince = new CompletenessTimes();",
  ),
  one(
    "an announcement to several wallets is acknowledged for one",
    "src/collect/translate/notification.ts",
    "    key: notificationKey(item, wallet.authority),\n    happenedMs: item.createdAt,",
    '    key: notificationKey(item, ""),\n    happenedMs: item.createdAt,',
  ),
  one(
    "an equity that is not known is 0 in the sum",
    "src/state/wallets/wallets.ts",
    "else known = false;",
    "",
  ),
  one(
    "an account is as old as the last of its marks",
    "src/state/accounts/account-ages.ts",
    "if (marketMs < oldestMarkMs) oldestMarkMs = marketMs;",
    "oldestMarkMs = marketMs;",
  ),
  one(
    "an older state of the same slot is taken",
    "src/state/accounts/account-states.ts",
    "(seen.slot === known.slot && seen.slotIndex < known.slotIndex)",
    "(seen.slot === known.slot && seen.slotIndex < -1)",
  ),
  {
    name: "formerly: a liquidation long after an end is taken as its reason",
    changes: [
      {
        file: "src/alerts/endings/liquidations.ts",
        from: "const before = happenedMs <= waiting.goneMs + settledAfterMs;",
        to: "const before = happenedMs <= waiting.goneMs + 1e12;",
      },
      {
        file: "src/alerts/endings/liquidations.ts",
        from: "if (waiting.goneSlot !== undefined && slot > waiting.goneSlot) return null;",
        to: "",
      },
    ],
  },
  one(
    "clocks are taken to agree where a liquidation is set against an alert",
    "src/alerts/endings/liquidations.ts",
    "const itsOwn = before && happenedMs >= waiting.fromMs - clockSlackMs && happenedMs > endedByMs;",
    "const itsOwn = before && happenedMs >= waiting.fromMs && happenedMs > endedByMs;",
  ),
  one(
    "three wallets without data are one alert",
    "src/alerts/own/no-data.ts",
    "const grouped = this.#gaps.wallets(nowMs, groupedFromWallets + 1).size > groupedFromWallets;",
    "const grouped = this.#gaps.wallets(nowMs, groupedFromWallets + 1).size >= groupedFromWallets;",
  ),
  one(
    "requests under way are not bounded",
    "src/exchange/requests/budget.ts",
    "const MAX_IN_FLIGHT = 64;",
    "const MAX_IN_FLIGHT = 1_000_000;",
  ),
  one(
    "the sides of a transfer within a wallet differ by rounding",
    "src/state/profit/records/flows.ts",
    "return Math.sign(usd) * transfer.transferUsd;",
    "return usd;",
  ),
  one(
    "a position that is liquidated in the slot of its last reading ends as closed",
    "src/alerts/endings/liquidations.ts",
    "if (slot < waiting.fromSlot) return null;",
    "if (slot <= waiting.fromSlot) return null;",
  ),
  {
    name: "formerly: where midnight does not exist the day never ends",
    changes: [
      {
        file: "src/rules/windows/edge.ts",
        from: "const firstOf = (day: number) => zone.instants(day * dayMs)[0]!;",
        to: "const firstOf = (day: number) => day * dayMs - zone.offsetMs(day * dayMs - zone.offsetMs(day * dayMs));",
      },
      {
        file: "src/rules/windows/edge.ts",
        from: "while (firstOf(day + 1) <= nowMs) day++;",
        to: "",
      },
    ],
  },
  one(
    "the funding rate is that of the last settled hour",
    "src/state/markets/markets.ts",
    "prices !== null && unit !== null ? inFraction(prices.statedFundingRate, unit) : settledPerHour;",
    "settledPerHour ?? (unit !== null && prices !== null ? inFraction(prices.statedFundingRate, unit) : null);",
  ),
  one(
    "time that a condition held by old positions counts once they are read",
    "src/alerts/lifecycle.ts",
    "const known = old || state.fresh === null ? state.levels : freshLevels(state);",
    "const known = state.levels;",
  ),
  one(
    "after an outage old positions are judged before they are read",
    "src/evaluate/conditions/old-accounts.ts",
    "return Math.max(unknownSinceMs, pricesSinceMs) + patienceMs;",
    "return Math.max(unknownSinceMs, 0 * pricesSinceMs);",
  ),
  one(
    "a clock of a level that stopped is not stored",
    "src/evaluate/conditions/condition-course.ts",
    "const clocked = clocksRun(state) || clocksRun(before);",
    "const clocked = clocksRun(state);",
  ),
  one(
    "a deposit of spot collateral is profit",
    "src/state/profit/changes/balance-change.ts",
    "else addedUsd += usd;",
    "else addedUsd += 0 * usd;",
  ),
  one(
    "what came and went in an account between two answers is not counted",
    "src/state/profit/records/records-ahead.ts",
    "    if (this.#records.length === 0) return nobody;",
    "    if (this.#records.length >= 0) return nobody;",
  ),
  one(
    "a collateral history that is 15 s late makes a deposit profit",
    "src/state/profit/changes/open-changes.ts",
    "const maxOpenMs = 300_000;",
    "const maxOpenMs = 15_000;",
  ),
  one(
    "a row of funding without a subaccount is of each account",
    "src/state/windows/event-windows.ts",
    'return owners.length === 1 ? "yes" : "maybe";',
    'return owners.length >= 1 ? "yes" : "maybe";',
  ),
  {
    name: "formerly: refused requests do not lower the rate",
    changes: [
      { file: "src/exchange/requests/rate-control.ts", from: "const HALF = 0.5;", to: "const HALF = 1;" },
      {
        file: "src/exchange/requests/rate-control.ts",
        from: "const SLIGHTLY_LESS = 0.95;",
        to: "const SLIGHTLY_LESS = 1;",
      },
    ],
  },
  one(
    "one end of an unexplained profit fires at once",
    "src/alerts/lifecycle.ts",
    "export const uncertainForMs = 10_000;",
    "export const uncertainForMs = 0;",
  ),
  {
    name: "formerly: an outage counts as over with any single answer",
    changes: [
      {
        file: "src/alerts/own/no-data.ts",
        from: "if (!noDataAlert.awaited.delete(key)) continue;",
        to: "if (!noDataAlert.awaited.delete(key) && !noDataAlert.lastReport.silent) continue;",
      },
      {
        file: "src/alerts/own/no-data.ts",
        from: "if (noDataAlert.members.size > 0 || noDataAlert.awaited.size > 0) return false;\n",
        to: "if (!noDataAlert.lastReport.silent && (noDataAlert.members.size > 0 || noDataAlert.awaited.size > 0)) return false;\n",
      },
      {
        file: "src/alerts/own/no-data.ts",
        from: "    if (noDataAlert.members.size > 0) return false;\n    if (this.#reads.awaitMissing(noDataAlert, builder.atMs)) return false;",
        to: "    if (!noDataAlert.lastReport.silent && (noDataAlert.members.size > 0 || this.#reads.awaitMissing(noDataAlert, builder.atMs))) return false;",
      },
    ],
  },
  one(
    "time in which a withdrawal might have been a loss counts for a loss after it",
    "src/evaluate/conditions/condition-judgements.ts",
    "return withoutHeld(lifecycle, certain);",
    "return lifecycle;",
  ),
  one(
    "a record of the slot of the newest state counts as shown by it",
    "src/state/profit/records/records-ahead.ts",
    "if (record.slot !== slot) return record.slot > slot;",
    "return record.slot > slot;",
  ),
  one(
    "fills of a slot belong to the last of its changes alone",
    "src/state/profit/changes/state-comparison.ts",
    "const former = other ?? (isSame ? this.#explained.ofSlot.findLast(isOfSlot) : undefined);",
    "const former = other;",
  ),
  {
    name: "formerly: the equity of a wallet is sampled once a minute",
    changes: [
      {
        file: "src/engine/account-answers.ts",
        from: "if (entry.node.windows?.hasFields) this.#parts.figures.sample(entry, builder);",
        to: "",
      },
      {
        file: "src/engine/event-answers.ts",
        from: "if (known && !entry.node.windows?.hasFields) this.#parts.figures.sample(entry, builder);",
        to: "if (known) this.#parts.figures.sample(entry, builder);",
      },
    ],
  },
  one(
    "spot collateral counts as nothing before it can be valued",
    "src/state/accounts/account-assessment.ts",
    "return priced !== null;",
    "return true;",
  ),
  one(
    "the settings of markets are read every ten minutes",
    "src/collect/schedule/intervals.ts",
    "everyMs(job: Job): number {",
    'everyMs(job: Job): number {\n    if (job.collector.source === "marketConfig") return 600_000;',
  ),
  one(
    "histories that explain a change of collateral wait for their turn",
    "src/state/profit/history-readings.ts",
    'const reading = this.#readingOf(entry);\n    builder.ask("collateral", name);\n    if (open',
    "const reading = this.#readingOf(entry);\n    if (open.length > 0) return;\n    if (open",
  ),
  one(
    "the time since which requests are limited is not told",
    "src/state/read-failures.ts",
    "time(cause.sinceMs)",
    "time(Math.min(nowMs, cause.sinceMs + 10_000))",
  ),
  {
    name: "formerly: a funding rate that is not known is none",
    changes: [
      {
        file: "src/margin/sheet.ts",
        from: "if (rate === undefined) return Number.NaN;\n      paidPerHour",
        to: "if (rate === undefined) continue;\n      paidPerHour",
      },
      {
        file: "src/margin/funding.ts",
        from: "if (rate === undefined || figures === undefined) return Number.NaN;",
        to: "if (figures === undefined) return Number.NaN;\n    if (rate === undefined) continue;",
      },
    ],
  },
  one(
    "profit is worked out when its histories are read",
    "src/state/wallets/wallets.ts",
    "  if (!entry.injected) entry.profit.publish();\n",
    "",
  ),
  one(
    "samples of a time whose profit was not known stay out of windows",
    "src/state/profit/profit-gaps.ts",
    "if (gap.samples.length === 0 || !isKnown(netDeposits)) return;",
    "if (gap.samples.length >= 0 || !isKnown(netDeposits)) return;",
  ),
  {
    name: "formerly: the baseline of a wallet is stored before all of its PDA indices are read",
    changes: [
      {
        file: "src/state/wallets/wallets.ts",
        from: "for (let i = 0; i < pdaIndices.length; i++) if (!seenMs.has(pdaIndices[i]!)) return false;",
        to: "if (pdaIndices.length > 1 && seenMs.size === 0) return false;",
      },
      {
        file: "src/state/profit/profit-figures.ts",
        from: "    if (!(wallet.pdaIndices ?? profit.comparedIndices).every((one) => profit.comparedIndices.includes(one)))\n      return;\n",
        to: "",
      },
    ],
  },
  {
    name: "formerly: no text says that a change of collateral is not explained",
    changes: [
      {
        file: "src/evaluate/conditions/condition-texts.ts",
        from: "summary: summary + (doubt ? `",
        to: "summary: summary + (doubt && nowMs < 0 ? `",
      },
      {
        file: "src/evaluate/conditions/condition-texts.ts",
        from: "description: doubt ? `Not explained yet",
        to: "description: doubt && nowMs < 0 ? `Not explained yet",
      },
    ],
  },
  one(
    "a spot balance is taken with the first answer of the next minute",
    "src/state/accounts/account-states.ts",
    "      account.state = state;\n      account.risk.take(state);\n",
    "      const isSameMinute = Math.floor(seen.atMs / 60_000) === Math.floor(account.seenMs / 60_000);\n      account.state = isSameMinute ? { ...state, spotCollaterals } : state;\n      account.risk.take(account.state);\n",
  ),
  one(
    "a withdrawal of spot collateral is a loss",
    "src/state/profit/changes/balance-change.ts",
    "if (usd < 0) taken[spot.assetIndex] = { units: -units, usd: -usd };",
    "if (usd < 0) return;",
  ),
  one(
    "texts are told before the figures that they name are read",
    "src/engine/assembly/evaluation-stage.ts",
    "atMs - noData.sinceMs(rule) <= textPatienceMs &&",
    "atMs - noData.sinceMs(rule) <= 0 * textPatienceMs &&",
  ),
  one(
    "a session that the market list tells of waits for the calendar",
    "src/engine/markets/market-list.ts",
    "before.commodityStatus !== config.commodityStatus)",
    "before.commodityStatus !== config.commodityStatus && builder.atMs < 0)",
  ),
  one(
    "single answers in between take back the time without data",
    "src/alerts/own/gaps.ts",
    "return Math.max(0, noDataForMs - openMs - this.#noDataTime.within(key, fromMs, nowMs));",
    "return Math.max(0, noDataForMs - openMs);",
  ),
  one(
    "a value that becomes infinite is not told of",
    "src/alerts/reminders/worsening.ts",
    'if (!Number.isFinite(more)) return "worsened";',
    "if (!Number.isFinite(more)) return null;",
  ),
  one(
    "each refusal halves the rate",
    "src/exchange/requests/rate-control.ts",
    "    if (news) limit.refusals++;",
    "    if (news) {\n      limit.refusals++;\n      this.perSecond = Math.max(this.floorPerSecond, this.perSecond / 2);\n    }",
  ),
  one(
    "old positions lower and end alerts",
    "src/alerts/lifecycle.ts",
    "return old && level.active && !holds ? level : stepLevel(level, holds, elapsedMs, rule);",
    "return stepLevel(level, holds, elapsedMs, rule);",
  ),
  one(
    "the time limit of a request begins when it is queued",
    "src/exchange/requests/call.ts",
    "        endMs += waitedMs;\n",
    "",
  ),
  one(
    "that nothing was ever read is a warning",
    "src/alerts/own/no-data-extent.ts",
    "const unread = stake.unread || this.#neverRead(listed);",
    "const unread = (stake.unread || this.#neverRead(listed)) && nowMs < 0;",
  ),
  one(
    "the age of what is at stake is that of the newer input",
    "src/state/wallets/stake.ts",
    "const readMs = Math.min(seenMs.traderState ?? nowMs, market?.seenMs.markets ?? nowMs);",
    "const readMs = Math.max(seenMs.traderState ?? nowMs, market?.seenMs.markets ?? nowMs);",
  ),
  one(
    "a reload forgets the last reading of deposits",
    "src/state/world.ts",
    "        rename(entry, wallet);\n        continue;",
    "        rename(entry, wallet);\n        delete entry.node.facts.seenMs.collateral;\n        continue;",
  ),
  one(
    "a limit of requests is not named as the cause",
    "src/state/read-failures.ts",
    '    case "rate-limited": {\n',
    '    case "rate-limited": {\n      if (nowMs > 0) return status === undefined ? short(text) : "HTTP " + status;\n',
  ),
  one(
    "the end beside wallets that are still unread does not name them",
    "src/alerts/own/no-data-extent.ts",
    "others.length > 0 ? [[",
    "others.length > 0 && nowMs < 0 ? [[",
  ),
  one(
    "how far the price has moved since the last reading is not told",
    "src/state/wallets/stake.ts",
    "isNearSince, readMs, moved };",
    "isNearSince, readMs, moved: moved && null };",
  ),
  one(
    "the alerts of single wallets go on beside the common one",
    "src/alerts/own/no-data.ts",
    "for (const one of this.#noDataAlerts.all) if (one !== carrier) alerts.hold(builder, one.live, true);",
    "for (const one of this.#noDataAlerts.all) if (one !== carrier) alerts.hold(builder, one.live, false);",
  ),
  one(
    "quiet changes of critical alerts wait for the disk",
    "src/deliver/message/finalizer.ts",
    'const critical = lane === "critical" || entries.some(({ item }) => item.severity === "critical");',
    'const critical = lane === "critical";',
  ),
  one(
    "what goes before a critical message waits for the disk anew",
    "src/deliver/queue/channel-queue.ts",
    "if (entry.stuck) this.#finalizer.stuck();",
    "if (entry.stuck && entry.item.id < 0) this.#finalizer.stuck();",
  ),
];
