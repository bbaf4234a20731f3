/**
 * Defects that are put into a copy of the project, to see that the scenarios find them: those that earlier versions had
 * (`former.ts`), and others in each part of the way from the exchange to the channel.
 */
import { former } from "./former.ts";

export interface Change {
  readonly file: string;
  /** Text that stands in the file exactly once. */
  readonly from: string;
  readonly to: string;
}

export interface Defect {
  /** The part of the product, and the mistake. */
  readonly name: string;
  readonly changes: readonly Change[];
}

const one = (name: string, file: string, from: string, to: string): Defect => ({
  name,
  changes: [{ file, from, to }],
});

const others: readonly Defect[] = [
  one(
    "watch: a day begins with an equity whose flows are still to be told",
    "src/state/profit/profit-states.ts",
    "    if (!this.#waiting.has(entry)) {\n      profit.answerUsd",
    "    if (entry) {\n      profit.answerUsd",
  ),
  one(
    "watch: a kill loses the highest profit",
    "src/state/profit/profit-states.ts",
    "    this.#figures.begin(entry, builder);\n    profit.keepHigh(builder);",
    "    this.#figures.begin(entry, builder);",
  ),
  one(
    "watch: the line of a profit at one end does not say so",
    "src/evaluate/conditions/condition-texts.ts",
    "if (doubt === null) judged.doubt?.leave();",
    "",
  ),
  one(
    "watch: lines of context are left out",
    "src/alerts/texts/details.ts",
    "  const add = (name: string, text: string | null): void => {\n    if (text !== null)",
    '  const add = (name: string, text: string | null): void => {\n    if (text !== null && name !== "Margin ratio")',
  ),
  one(
    "watch: the highest profit of a text is the present one",
    "src/state/profit/profit.ts",
    "    if (this.#kept !== null) values.highWaterMark = pnl > this.#peak.usd ? pnl : this.#peak.usd;\n  }",
    "    if (this.#kept !== null) values.highWaterMark = Number.isNaN(pnl) ? this.#peak.usd : pnl;\n  }",
  ),
  one(
    "watch: the end of an alert tells three times the withdrawal that raised it",
    "src/evaluate/conditions/both-ends.ts",
    "const size = formatUsd(Math.abs(usd));",
    "const size = formatUsd(3 * Math.abs(usd));",
  ),
  one(
    "watch: the end of an alert about a closed position has other figures",
    "src/alerts/endings/endings.ts",
    "recovered() : (waiting.before ?? waiting.live.beforeLoss);",
    'recovered() : (waiting.before && { ...waiting.before, description: waiting.before.description.replace(/\\d(?=\\D)/, "$&7") });',
  ),
  one(
    "watch: a text by old positions does not say how old they are",
    "src/evaluate/conditions/old-accounts.ts",
    'details: [["Judged by", age], ...text.details],',
    "...{ summary: text.summary, details: text.details },",
  ),
  one(
    "domain: durations are rounded up",
    "src/domain/text/duration.ts",
    "let rest = Math.round(abs / 1_000);",
    "let rest = Math.ceil(abs / 1_000);",
  ),
  one(
    "watch: fees of today are a hundredth higher",
    "src/state/day/today.ts",
    "day.fees += numberOf(fields.fee);",
    "day.fees += 1.01 * numberOf(fields.fee);",
  ),
  one(
    "watch: a restart forgets for how long a condition has held",
    "src/evaluate/conditions/conditions.ts",
    "      levels: state.levels,\n      countedAtMs: builder.atMs,",
    "      levels: state.levels.map((one) => ({ ...one, heldMs: 0, goneMs: 0 })),\n      countedAtMs: builder.atMs,",
  ),
  one(
    "alerts: a value that is hardly worse is told of",
    "src/alerts/reminders/remind.ts",
    "worsening >= comparedSize(notifiedValue, falling, worst) * worseBy)",
    "worsening >= comparedSize(notifiedValue, falling, worst) * worseBy * 0.01)",
  ),
  one(
    "alerts: the title of a message has other figures",
    "src/alerts/pending/reported.ts",
    "if (changes.length === 1) return alert.summary;",
    'if (changes.length === 1) return alert.summary.replaceAll(/\\d/g, "7");',
  ),
  one(
    "risk: the leverage is twice what it is",
    "src/margin/assess.ts",
    "leverage: ratioOf(sums.grossNotionalQuoteLots, effective),",
    "leverage: 2 * ratioOf(sums.grossNotionalQuoteLots, effective),",
  ),
  one(
    "exchange: a delta older than what is known is merged",
    "src/exchange/stream/trader-mirror.ts",
    "if (delta.sequence <= this.#sequenceOf(index)) continue;",
    "",
  ),
  one(
    "exchange: the closing of a position in a delta is overlooked",
    "src/exchange/stream/trader-delta.ts",
    "      positions.delete(key);\n    } else if",
    "    } else if",
  ),
  one(
    "exchange: a lost stop loss in a delta is overlooked",
    "src/exchange/stream/trader-delta.ts",
    'if (change === "closed") triggers.delete(symbol.toUpperCase());',
    'if (change === "closed") continue;',
  ),
  one(
    "exchange: a stream that says nothing is never dead",
    "src/exchange/stream/liveness.ts",
    "this.#pingedMs !== null && now - this.#pingedMs >= answerMs",
    "false && answerMs > 0",
  ),
  one(
    "collect: streamed changes of accounts wait for the next poll",
    "src/collect/stream/stream-buffer.ts",
    "if (received === null || pending === null) this.#states.set(key, null);\n    else",
    "if (received === null || pending === null) this.#states.set(key, null);\n    else if (received.length < 0)",
  ),
  one(
    "collect: what the stream brings is handed on after three seconds",
    "src/collect/stream/coalesce.ts",
    "const MIN_PAUSE_MS = 10;",
    "const MIN_PAUSE_MS = 3_000;",
  ),
  one(
    "collect: accounts of the last wallet are not read again",
    "src/collect/collectors/trader-state.ts",
    "wallet.pdaIndices.map((pdaIndex, index) => readIndex(run, places[index]!, pdaIndex)),",
    "wallet.pdaIndices.slice(0, last.size > 1 ? 1 : undefined).map((pdaIndex, index) => readIndex(run, places[index]!, pdaIndex)),",
  ),
  one(
    "watch: the distance of a short is measured against the liquidation price",
    "src/state/accounts/account-facts.ts",
    "values.liquidationDistance = Math.abs(of.markTicks - liquidationTicks) / of.markTicks;",
    "values.liquidationDistance = Math.abs(of.markTicks - liquidationTicks) / (long ? of.markTicks : liquidationTicks);",
  ),
  one(
    "watch: a take profit counts as a stop loss",
    "src/state/accounts/account-facts.ts",
    'noTriggers : active(triggers, "stopLoss");',
    'noTriggers : [...active(triggers, "stopLoss"), ...active(triggers, "takeProfit")];',
  ),
  one(
    "watch: a liquidation ends an alert as recovered",
    "src/alerts/endings/liquidations.ts",
    "return itsOwn ? ending : null;",
    "return itsOwn && ending === undefined ? ending : null;",
  ),
  one(
    "watch: a withdrawal has the opposite sign in the profit of today",
    "src/state/day/today.ts",
    "usd += flow.usd;\n      counted.push(flow);",
    "usd -= flow.usd;\n      counted.push(flow);",
  ),
  one(
    "watch: flows are counted twice in the profit",
    "src/state/profit/profit.ts",
    "this.#kept = { ...kept, netUsd: kept.netUsd + usd };",
    "this.#kept = { ...kept, netUsd: kept.netUsd + 2 * usd };",
  ),
  one(
    "watch: spot collateral is worth nothing",
    "src/state/accounts/account-assessment.ts",
    "risk.spot = priced ?? undefined;",
    "risk.spot = undefined;",
  ),
  one(
    "watch: a no-data alert ends while a source is still missing",
    "src/alerts/own/no-data.ts",
    "if (noDataAlert.members.size > 0 || noDataAlert.awaited.size > 0) return false;",
    "if (noDataAlert.members.size > 1) return false;",
  ),
  one(
    "watch: no-data waits for five minutes",
    "src/alerts/patience.ts",
    "export const noDataForMs = 30_000;",
    "export const noDataForMs = 300_000;",
  ),
  one(
    "risk: the maintenance margin is 2 % less",
    "src/margin/fast.ts",
    "into.maintenanceMarginQuoteLots = shareDown(initial, it.maintenanceBps);",
    "into.maintenanceMarginQuoteLots = shareDown(initial, it.maintenanceBps * 0.98);",
  ),
  one(
    "risk: funding that is not settled is left out of the liquidation price",
    "src/margin/liquidation-price.ts",
    "add(account.collateralQuoteLots, funding),\n",
    "add(account.collateralQuoteLots, 0),\n",
  ),
  one(
    "risk: equity lacks the unsettled funding",
    "src/margin/assess.ts",
    "const settled = add(collateral, funding);",
    "const settled = add(collateral, 0);",
  ),
  one(
    "rules: a level does not stand by its resolveWhen",
    "src/rules/judge.ts",
    "if (holds === true || level.resolveWhen === null) return holds;",
    "if (holds === true || level.resolveWhen !== undefined) return holds;",
  ),
  one(
    "alerts: an alert ends with the first judgement that is below",
    "src/alerts/lifecycle.ts",
    "const active = level.active && goneMs < rule.keepFiringForMs;",
    "const active = level.active && goneMs < 0;",
  ),
  one(
    "alerts: `for` is not waited for",
    "src/alerts/lifecycle.ts",
    "active: level.active || heldMs >= forMs,",
    "active: level.active || heldMs >= 0,",
  ),
  one(
    "deliver: a message is sent before it is sealed",
    "src/deliver/message/finalizer.ts",
    "if (!stuck && (await journal.commitFinalized({ message, entries }))) {",
    "if (!stuck && (void journal.commitFinalized({ message, entries }), true)) {",
  ),
  one(
    "deliver: a message that failed is not tried again",
    "src/deliver/queue/sender.ts",
    'if (result.kind === "retry" && patient) {',
    'if (result.kind === "retry" && patient && attempts > 50) {',
  ),
  one(
    "deliver: a start forgets what an earlier run owed",
    "src/deliver/outbox.ts",
    "const messages = await store.messages({ open: true });",
    "const messages: Message[] = [];",
  ),
  one(
    "deliver: what an earlier run sealed is sealed anew",
    "src/deliver/outbox.ts",
    "if (item.messageId !== null) entry.item = item;",
    "",
  ),
  one(
    "deliver: an item is acknowledged before its message is delivered",
    "src/deliver/acknowledge/handled.ts",
    'const over = allItems.every((items) => items.length > 0 && items.every(isOver));\n        return over && allItems.some((items) => items.some(({ status }) => status === "delivered"));',
    "return allItems.every((items) => items.length > 0);",
  ),
  one(
    "deliver: a dead message counts as delivered",
    "src/deliver/acknowledge/handled.ts",
    'allItems.some((items) => items.some(({ status }) => status === "delivered"))',
    "allItems.length > 0",
  ),
  one(
    "watch: what was deleveraged ends as liquidated",
    "src/alerts/endings/liquidations.ts",
    'fields.kind === "adl" ? "deleveraged" : "liquidated"',
    'fields.kind === "adl" ? "liquidated" : "liquidated"',
  ),
  one(
    "watch: the distance at stake while data are missing is that of the farthest position",
    "src/state/wallets/stake.ts",
    "if (nearest === null || of.moves < nearest.moves) nearest = of;",
    "if (nearest === null || of.moves > nearest.moves) nearest = of;",
  ),
  one(
    "domain: percentages have two digits",
    "src/domain/text/number-text.ts",
    "significant(withoutRest(fraction) * 100, 3)",
    "significant(withoutRest(fraction) * 100, 2)",
  ),
  one(
    "alerts: a route inherits no wait for its groups",
    "src/alerts/routing/route.ts",
    "groupWaitMs: route.groupWait ?? above.groupWaitMs,",
    "groupWaitMs: route.groupWait ?? 120_000,",
  ),
  one(
    "watch: time without data is counted twice",
    "src/alerts/own/no-data-time.ts",
    "Math.min(spell.toMs, toMs)",
    "Math.max(spell.toMs, toMs)",
  ),
  one(
    "watch: a no-data alert names only what weighs most",
    "src/alerts/own/no-data-text.ts",
    "return [...rows.values()].sort(",
    "return [...rows.values()].filter((one, _, all) => all.every((other) => weight(one) <= weight(other))).sort(",
  ),
  one(
    "watch: what adds nothing is told as worse",
    "src/alerts/own/no-data-review.ts",
    "else if (review && wider && rise === 0)",
    "else if (review && rise === 0)",
  ),
  one(
    "watch: what is not explained is told thrice as large",
    "src/evaluate/conditions/both-ends.ts",
    "formatUsd(-outUsd)",
    "formatUsd(-3 * outUsd)",
  ),
  one(
    "watch: the time in which nobody watched is told thrice as long",
    "src/alerts/own/downtime.ts",
    "const lasted = formatDurationMs(builder.atMs - lastAliveMs);",
    "const lasted = formatDurationMs(3 * (builder.atMs - lastAliveMs));",
  ),
  one(
    "history: the last sign of life is by this machine's clock",
    "src/history/store.ts",
    "writer.alive(aliveMs ?? this.#clock.nowMs());",
    "writer.alive(this.#clock.nowMs());",
  ),
  one(
    "deliver: the others of a group are listed as they were told last",
    "src/deliver/message/firing-lists.ts",
    "{ id: one.id, severity, summary, ...age,",
    "{ id: one.id, severity, summary: one.summary, ...age,",
  ),
  one(
    "watch: alerts that fire now are listed by another one's number",
    "src/alerts/own/no-data-ends.ts",
    "const { id, severity, summary, textAtMs } = firingAlert(one, nowMs);",
    "const { severity, summary, textAtMs } = firingAlert(one, nowMs), id = 1 + one.alert.id;",
  ),
  one(
    "watch: an old text is listed as that of now",
    "src/alerts/own/no-data-ends.ts",
    "nowMs - textAtMs > recentMs ?",
    "nowMs - textAtMs > 3_600_000 ?",
  ),
  one(
    "advice: an account gives what it needs itself",
    "src/advice/amounts.ts",
    "if (standing.isSafe(withDeposit(risk, -quoteLots))) return { from, quoteLots };",
    "if (standing !== null) return { from, quoteLots };",
  ),
  one(
    "advice: amounts clear the account at its marks alone",
    "src/advice/amounts.ts",
    "const standing = new AccountJudgement(situation, supposed, options.headroomOf);",
    "const standing = new AccountJudgement(situation, supposed, () => 0);",
  ),
  one(
    "advice: an amount is just enough at the marks, and a moment later too little",
    "src/advice/account-judgement.ts",
    "const slip = 0.001;",
    "const slip = 0;",
  ),
  one(
    "deliver: a message is sent a second late",
    "src/deliver/message/finalizer.ts",
    "const { clock, journal, sender, instance, standing, charts, log } = this.#options;",
    "const { clock, journal, sender, instance, standing, charts, log } = this.#options;\n    await clock.sleep(1_000);",
  ),
  one(
    "watch: nobody is told of a broken channel",
    "src/alerts/own/channel-alerts.ts",
    "if (known) return;\n    const live",
    "if (known || !seen.working) return;\n    const live",
  ),
  one(
    "watch: a reminder of missing data is told again as worse",
    "src/alerts/own/firing-no-data-alerts.ts",
    "noDataAlert.live.onRenewed = (nowMs) =>\n      noDataAlert.reported(this.#extents.of(noDataAlert.state(), nowMs));",
    "noDataAlert.live.onRenewed = () => {};",
  ),
  one(
    "alerts: an alert without a value is not reminded of",
    "src/alerts/reminders/reminder-times.ts",
    "if (ownMs === null) {",
    "if (ownMs === null || live.alert.value === null) {",
  ),
  one(
    "alerts: nobody is told of a wallet's missing data while another's are told of",
    "src/alerts/notifications.ts",
    "    const { receivers: notified, alerted } = this.enqueue(builder, change, to, null, { voids });",
    `    const others = [...this.#live.values()].filter((one) => one !== live && one.alert.rule === "Blind");
    const hidden = kind === "fired" && live.alert.rule === "Blind" && others.length > 0;
    const { receivers: notified, alerted } = this.enqueue(builder, change, hidden ? [] : to, null, { voids });`,
  ),
  one(
    "deliver: an inbox audit knows no notification",
    "src/deliver/acknowledge/inbox-audit.ts",
    "const missing = keys.filter((key) => !known.has(`notification/",
    "const missing = keys.filter((key) => !known.has(`notification.",
  ),
  one(
    "watch: a broken channel is told of a second time",
    "src/alerts/own/channel-alerts.ts",
    "    this.#broken.set(channel, live);\n    return null;",
    "    return null;",
  ),
  one(
    "watch: an outage that narrowed without word is told as worse with less",
    "src/alerts/own/no-data-review.ts",
    "noDataAlert.narrowed(extent);",
    "noDataAlert.reported(extent);",
  ),
  one(
    "alerts: a message of a large group leaves out those beyond its limit",
    "src/deliver/message/make-message.ts",
    "const items: MessageItem[] = shown.map(",
    "const items: MessageItem[] = shown.slice(0, 10).map(",
  ),
  one(
    "watch: a funding rate is compared with an hour that was settled after it",
    "src/state/markets/markets.ts",
    "prices.exchangeMs >= settledMs ? settledPerHour : null",
    "prices.exchangeMs > 0 ? settledPerHour : null",
  ),
  one(
    "watch: profit beside a deposit that a trade hides is a peak",
    "src/state/profit/profit-figures.ts",
    "    profit.held.add(builder.atMs, usd);\n",
    "",
  ),
  one(
    "watch: an alert that outlived the explanation of a flow ends as explained after a restart",
    "src/evaluate/conditions/condition-course.ts",
    "if (outlived) instance.outlivedMs = builder.atMs;",
    "",
  ),
  one(
    "watch: profit that was held beside a trade is dropped",
    "src/state/profit/held-profit.ts",
    "      maxUsd = Math.max(maxUsd, oldest.maxUsd);\n",
    "",
  ),
  one(
    "watch: one trade ends the time of the next one as well",
    "src/state/profit/held-profit.ts",
    "      this.#trades.shift();\n",
    "      this.#trades.length = 0;\n",
  ),
  one(
    "watch: a fill that is read before the state of its trade proves nothing",
    "src/state/profit/changes/state-comparison.ts",
    "      if (!isExplained(left)) return this.add(left, noRecords) || other !== undefined;\n",
    "",
  ),
  one(
    "watch: money that a fill tells of stays in the profit",
    "src/state/profit/changes/open-changes.ts",
    "this.explained.rough.settle().filter((one) => !isExplained(one));",
    "this.explained.rough.settle().filter(() => false);",
  ),
  one(
    "watch: the sides of transfers end an alert as a withdrawal",
    "src/state/profit/changes/explained-flows.ts",
    "map(({ usd, paidUsd = usd }) => paidUsd)",
    "map(({ usd }) => usd)",
  ),
  one(
    "watch: a no-data alert ends while what it listed is missing again",
    "src/alerts/own/no-data.ts",
    "    if (this.#reads.awaitMissing(noDataAlert, builder.atMs)) return false;\n",
    "",
  ),
  one(
    "watch: money in the second state of a slot is hidden by the trade in the first",
    "src/state/profit/changes/state-comparison.ts",
    "movedBeside ? { ...own, movedBeside } : own",
    "own",
  ),
  one(
    "watch: the record of a hidden deposit leaves the highest profit as it is",
    "src/state/profit/profit-records.ts",
    "if (counts && usd > 0 && isHidden) profit",
    "if (counts && usd < 0 && isHidden) profit",
  ),
  one(
    "watch: an account that gave back what it was given in a slot is taken for one of before",
    "src/state/profit/records/shown-by-other-side.ts",
    "return changes.ahead.isAhead(own) && isUndone(event, own, read) ? { shown: true } : {};",
    "return {};",
  ),
  one(
    "watch: the direction of a transfer in a stop is not told by the state before",
    "src/state/profit/changes/open-list.ts",
    "if (first !== undefined) return first;",
    "if (first !== undefined && first === 0) return first;",
  ),
  one(
    "watch: a sale in the slot of a state is forgotten",
    "src/state/profit/changes/open-changes.ts",
    " || this.#takeSale(record, atMs)) return true;",
    ") return true;",
  ),
  one(
    "watch: nothing tells whether a record of the slot of an answer came before or after it",
    "src/state/profit/records/record-order.ts",
    "return index === undefined || record.index === undefined ? undefined : record.index > index;",
    "return index === undefined || record.index === undefined ? undefined : undefined;",
  ),
  one(
    "watch: collateral that was paid out counts as sold beside funding that is known roughly",
    "src/state/profit/changes/unexplained-amount.ts",
    "  if (isExact) return false;\n",
    "",
  ),
  one(
    "watch: a no-data alert that named what was missing falls amid a new silence",
    "src/alerts/own/no-data-review.ts",
    "if (unansweredMs > 2 * Math",
    "if (lastReport.silent && unansweredMs > 2 * Math",
  ),
  one(
    "exchange: a poll tells the place in the slot of what the stream told after it",
    "src/exchange/stream/trader-mirror.ts",
    "      exact = false;\n",
    "",
  ),
  one(
    "collect: a streamed price takes back what a poll told after it",
    "src/collect/stream/stream-buffer.ts",
    "if (this.#prices.get(key) !== prices) this.#prices.delete(key);",
    "if (this.#prices.get(key) === prices) this.#prices.delete(key);",
  ),
  one(
    "collect: an inbox that is read stands for those that are not",
    "src/collect/collectors/notifications.ts",
    "if (answeredMs === null) return null;",
    "if (answeredMs === null) continue;",
  ),
  one(
    "collect: whoever has less than a transfer moved gave it, whatever the other side has",
    "src/collect/translate/collateral.ts",
    "  if (other !== undefined && hasLess(other) === likely) return { usd: null };\n  if (likely) return { usd: -size, guessed: true };",
    "  if (likely) return { usd: -size };",
  ),
  one(
    "collect: a liquidation is told an hour late",
    "src/collect/translate/liquidation.ts",
    "happenedMs: row.timestamp,",
    "happenedMs: row.timestamp - 3_600_000,",
  ),
  one(
    "ingest: events that are known are told again",
    "src/ingest/loop.ts",
    "if (known.has(key) || this.#inFlight.has(key) || taken.has(key)) return false;",
    "if (taken.has(key)) return false;",
  ),
  one(
    "ingest: what is owed leaves before it is committed",
    "src/ingest/loop.ts",
    "    if (!isEmpty(changes)) this.#held.push({ changes, stuck: false });",
    "    if (!isEmpty(changes)) {\n      this.#held.push({ changes, stuck: false });\n      this.#options.onCommitted(changes);\n    }",
  ),
  one(
    "watch: an alert that fires again does not take back a recovery that is not told yet",
    "src/alerts/endings/endings.ts",
    "waiting.judgedAs !== judgedAs) continue;",
    "waiting.judgedAs !== judgedAs || alert) continue;",
  ),
  one(
    "watch: a recovery is told while its condition has held again for a part of its `for`",
    "src/alerts/endings/endings.ts",
    "return judgedAs !== undefined && this.#isPending(live.alert, judgedAs);",
    "return judgedAs === null && this.#isPending(live.alert, judgedAs);",
  ),
  one(
    "watch: a state of one account makes forgotten what broke a hedge in another",
    "src/state/aggregates/pair-breaks.ts",
    "states.find((one) => one.subaccount === subaccount) ?? states.find((one) => one.subaccount === null);",
    "states.toSorted((a, b) => b.slot - a.slot)[0];",
  ),
  one(
    "collect: the first answer that cannot be read is waited for as long as the last one of an outage",
    "src/collect/schedule/read-outcomes.ts",
    "job.retries = answersAgain ? 1 : job.retries + 1;",
    "job.retries += answersAgain ? 1 : 1;",
  ),
  one(
    "watch: a recovery for which no word is waited is told as a close",
    "src/alerts/endings/endings.ts",
    "else if (!ending.suspicious) this.#settle(builder, waiting, ending.fallback);",
    'else if (!ending.suspicious) this.#settle(builder, waiting, "closed");',
  ),
  one(
    "watch: the end of each alert about missing data says that nobody needs them",
    "src/alerts/own/no-data-extent.ts",
    "  if (readMs === null) {",
    "  if (readMs !== undefined) {",
  ),
  one(
    "watch: missing data are critical where nothing is at stake",
    "src/alerts/own/no-data-extent.ts",
    "const near = risky && stake.near.length > 0;",
    "const near = risky;",
  ),
  one(
    "watch: an alert about missing data ends while a part of them is missing",
    "src/alerts/own/no-data.ts",
    "if (noDataAlert.members.size > 0 || noDataAlert.awaited.size > 0) return false;",
    "if (noDataAlert.members.size > 1 || noDataAlert.awaited.size > 0) return false;",
  ),
  one(
    "watch: after a restart the alert of a wallet is held by one that does not list it",
    "src/alerts/own/no-data.ts",
    "if (one.wallet !== null && common.holds(one.wallet))",
    "if (one.wallet !== null)",
  ),
  one(
    "watch: no alert is shown as firing",
    "src/engine/status.ts",
    "firing: alerts.filter((alert) => !alert.shadow),",
    "firing: [],",
  ),
  one(
    "collect: notifications that a stream tells of are left to the inbox",
    "src/collect/stream/feed.ts",
    "if (!wallet || message.authority !== wallet.authority) return;",
    "if (!wallet || message) return;",
  ),
  one(
    "collect: of what is read market by market the first market alone is read",
    "src/collect/collectors/by-market.ts",
    "for (const symbol of symbols) {",
    "for (const symbol of symbols.slice(0, 1)) {",
  ),
  one(
    "alerts: warnings and infos are reminded of as often as critical alerts",
    "src/alerts/reminders/remind.ts",
    "const pace = settings[alert.severity satisfies Severity];",
    "const pace = settings.critical;",
  ),
  one(
    "deliver: what was delivered is never acknowledged at the exchange",
    "src/deliver/acknowledge/handled.ts",
    "return over && allItems.some(",
    "return !over && allItems.some(",
  ),
  one(
    "rules: the age of an event is told twice as long",
    "src/rules/expression/nodes/functions.ts",
    "formatAgo(env.nowMs - atMs)",
    "formatAgo(2 * (env.nowMs - atMs))",
  ),
  one(
    "rules: of the levels that hold the lowest is taken",
    "src/rules/judge.ts",
    "  for (let i = levels.length - 1; i >= 0; i--) {\n    const level = levels[i]!;\n    const rank",
    "  for (let i = 0; i < levels.length; i++) {\n    const level = levels[i]!;\n    const rank",
  ),
  one(
    "rules: the lesser of two numbers is the greater one",
    "src/rules/expression/nodes/functions.ts",
    'const pick = name === "min" ? Math.min : Math.max;',
    "const pick = Math.max;",
  ),
  one(
    "rules: an absolute value keeps its sign",
    "src/rules/expression/nodes/functions.ts",
    "run: mapNumber(first.run, Math.abs)",
    "run: first.run",
  ),
  one(
    "rules: windows look back half as far",
    "src/rules/windows/create.ts",
    "rollingEdge(windowMs)",
    "rollingEdge(windowMs / 2)",
  ),
  one(
    "ingest: the time is taken five seconds late where nothing else comes",
    "src/ingest/loop.ts",
    "?? tickMs, tickMs);",
    "?? tickMs, tickMs) + 4_000;",
  ),
];

export const defects: readonly Defect[] = [...others, ...former];
