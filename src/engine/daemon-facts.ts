/** The facts about the daemon itself, for its rules. */
import type { ChannelAlerts } from "../alerts/own/channel-alerts.ts";
import type { NoData } from "../alerts/own/no-data.ts";
import type { DaemonFigures } from "../domain/observation.ts";
import type { ChangesBuilder } from "../domain/stored/changes-builder.ts";
import type { Conditions } from "../evaluate/conditions/conditions.ts";
import type { Counts } from "../state/counts.ts";
import type { SubjectNode } from "../state/subjects.ts";
import type { NamedValues } from "../state/windows/named-values.ts";
import type { Series } from "../state/windows/series.ts";

export interface DaemonFactsParts {
  readonly node: SubjectNode;
  readonly conditions: Conditions;
  readonly noData: NoData;
  readonly channels: ChannelAlerts;
  readonly counts: Counts;
  readonly named: NamedValues;
  readonly series: Series;
}

export class DaemonFacts {
  readonly #parts: DaemonFactsParts;

  constructor(parts: DaemonFactsParts) {
    this.#parts = parts;
  }

  take(figures: DaemonFigures, builder: ChangesBuilder): void {
    const { node, named, series, conditions } = this.#parts;
    this.#write(figures, builder);
    named.update(node, builder.atMs);
    builder.changes.ticks.push(series.daemon(node.facts.values, builder.atMs));
    node.windows?.feed(builder.atMs, node.facts.values);
    conditions.judgeNode(node, null, builder);
  }

  /** Called when a channel failed, or works again. */
  channelTurned(builder: ChangesBuilder): void {
    const { node, channels, conditions } = this.#parts;
    node.facts.values.brokenChannels = channels.broken;
    conditions.judgeNode(node, null, builder);
  }

  /** Updates the no-data facts: a rule that is due before the next figures is judged by the alerts that fire now. */
  noteNoData(): void {
    this.#parts.node.facts.values.noDataAlerts = this.#parts.noData.alerts;
  }

  #write(figures: DaemonFigures, builder: ChangesBuilder): void {
    const { node, noData, channels, counts: counter } = this.#parts;
    const counts = counter.take(figures, builder);
    const { values } = node.facts;
    values.host = figures.host;
    values.lag = figures.lagMs;
    values.loopLag = figures.loopLagMs;
    values.failedPolls = figures.failedPolls;
    values.failingReads = figures.failingReads;
    values.blindWallets = noData.wallets;
    values.noDataAlerts = noData.alerts;
    values.clockOffset = figures.clockOffsetMs;
    values.streamConnected = figures.streamConnected;
    values.budgetUsed = figures.budgetUsed;
    values.rateLimited = figures.rateLimited;
    values.undelivered = figures.undelivered;
    values.oldestUndelivered = figures.oldestUndeliveredMs;
    values.waitingChannels = figures.waitingChannels;
    values.databaseBytes = figures.databaseBytes;
    values.authFailures = counts.authFailures;
    values.repeatedAuthFailures = counts.repeatedAuthFailures;
    values.refusedWallets = counter.refusedWallets(figures, builder.atMs);
    values.signingWallets = figures.signingWallets;
    values.signedOutWallets = figures.signedOutWallets;
    values.loginTextRefused = figures.loginTextRefused;
    values.signerUnavailable = figures.signerUnavailable;
    values.deadMessages = figures.deadMessages;
    values.badRecords = counts.badRecords;
    values.brokenChannels = channels.broken;
  }
}
