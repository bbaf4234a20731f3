/** Passes an observation to the part that handles it. */
import { severityRank } from "../domain/alerts/alert.ts";
import type { Observation } from "../domain/observation.ts";
import type { ChangesBuilder } from "../domain/stored/changes-builder.ts";
import { unreachable } from "../domain/unreachable.ts";
import type { Parts } from "./assembly/parts.ts";

export class Intake {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  take(observation: Observation, builder: ChangesBuilder): void {
    this.#parts.own.observe(observation, builder);
    switch (observation.kind) {
      case "accounts":
        this.#parts.accounts.take(observation, builder);
        return;
      case "prices":
        this.#parts.market.prices(observation, builder);
        this.#parts.figures.valued(builder);
        return;
      case "marketConfig":
        this.#parts.market.list.config(observation, builder);
        this.#parts.figures.valued(builder);
        return;
      case "collateralAssets":
        this.#parts.market.assets.take(observation, builder);
        this.#parts.figures.valued(builder);
        return;
      case "fundingRate":
        this.#parts.market.rate(observation, builder);
        return;
      case "depth":
        this.#parts.market.depth(observation, builder);
        return;
      case "calendar":
        this.#parts.market.session(observation, builder);
        return;
      case "external":
        this.#parts.market.external(observation, builder);
        return;
      case "exchangeStatus":
        this.#parts.market.status(observation, builder);
        return;
      case "traderView":
        this.#parts.checks.takeView(observation, builder);
        return;
      case "portfolio":
        this.#parts.checks.takePortfolio(observation, builder);
        return;
      case "events":
        this.#parts.events.take(observation, builder);
        return;
      case "backfill":
        this.#parts.warmUp.takeBackfill(observation.ticks, builder);
        return;
      case "failed": {
        const { kind: _, ...failure } = observation;
        builder.changes.failedReads.push(failure);
        return;
      }
      case "session": {
        const entry = this.#parts.world.wallets.get(observation.wallet);
        if (!entry) return;
        entry.signedIn = observation.signedIn;
        entry.sessionDetail = observation.detail;
        entry.node.facts.values.signedIn = observation.signedIn;
        this.#parts.conditions.judgeNode(entry.node, null, builder);
        return;
      }
      case "daemon":
        this.#parts.daemon.take(observation.figures, builder);
        return;
      case "channel":
        this.#parts.daemon.channelTurned(builder);
        return;
      case "acknowledged": {
        const { alert, by, comment, shown } = observation;
        const live = this.#parts.alerts.live.get(alert.id);
        // It ended between the request and now: its row states that and stays unchanged.
        if (!live && !alert.event) return;
        // It rose between the request and now: the person did not see that level.
        if (shown && live && severityRank[live.alert.severity] > severityRank[shown.severity]) return;
        this.#parts.alerts.acknowledge(builder, live?.alert ?? alert, by, comment, shown);
        return;
      }
      case "silenced":
        this.#parts.alerts.putSilence(observation.silence, builder);
        return;
      case "started":
        builder.changes.milestones.push({
          atMs: builder.atMs,
          kind: "started",
          value: JSON.stringify({ version: observation.version, lastAliveMs: observation.lastAliveMs }),
        });
        return;
      case "stopped":
        builder.changes.milestones.push({ atMs: builder.atMs, kind: "stopped", value: "{}" });
        return;
      case "figures":
        this.#parts.injected.take(observation, builder);
        return;
      case "dropped":
      case "drill":
      case "drilled":
      case "inboxAudited":
      case "watching":
      case "time":
        return;
      default:
        unreachable(observation);
    }
  }
}
