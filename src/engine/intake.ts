/** Hands an observation to the part that takes it. */
import { severityRank } from "../domain/alert.ts";
import type { Draft } from "../domain/draft.ts";
import type { Observation } from "../domain/observation.ts";
import { unreachable } from "../domain/unreachable.ts";
import type { Parts } from "./assembly/parts.ts";

export class Intake {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  take(observation: Observation, draft: Draft): void {
    this.#parts.own.observe(observation, draft);
    switch (observation.kind) {
      case "accounts":
        this.#parts.accounts.take(observation, draft);
        return;
      case "prices":
        this.#parts.market.prices(observation, draft);
        this.#parts.figures.valued(draft);
        return;
      case "marketConfig":
        this.#parts.market.config(observation, draft);
        this.#parts.figures.valued(draft);
        return;
      case "collateralAssets":
        this.#parts.market.collateralAssets(observation, draft);
        this.#parts.figures.valued(draft);
        return;
      case "fundingRate":
        this.#parts.market.rate(observation, draft);
        return;
      case "depth":
        this.#parts.market.depth(observation, draft);
        return;
      case "calendar":
        this.#parts.market.session(observation, draft);
        return;
      case "external":
        this.#parts.market.external(observation, draft);
        return;
      case "exchangeStatus":
        this.#parts.market.status(observation, draft);
        return;
      case "traderView":
        this.#parts.checks.takeView(observation, draft);
        return;
      case "portfolio":
        this.#parts.checks.takePortfolio(observation, draft);
        return;
      case "events":
        this.#parts.events.take(observation, draft);
        return;
      case "backfill":
        this.#parts.past.takeBackfill(observation.ticks, draft);
        return;
      case "failed": {
        const { kind: _, ...failure } = observation;
        draft.changes.failedReads.push(failure);
        return;
      }
      case "session": {
        const entry = this.#parts.world.wallets.get(observation.wallet);
        if (!entry) return;
        entry.signedIn = observation.signedIn;
        entry.sessionDetail = observation.detail;
        entry.node.facts.values.signedIn = observation.signedIn;
        this.#parts.conditions.judgeNode(entry.node, null, draft);
        return;
      }
      case "daemon":
        this.#parts.daemon.take(observation.figures, draft);
        return;
      case "channel":
        this.#parts.daemon.channelTurned(draft);
        return;
      case "acknowledged": {
        const { alert, by, comment, shown } = observation;
        const live = this.#parts.alerts.live.get(alert.id);
        // It ended between the asking and now: its row says so and stays as it is.
        if (!live && !alert.event) return;
        // It rose between the asking and now: nobody saw that.
        if (shown && live && severityRank[live.alert.severity] > severityRank[shown.severity]) return;
        this.#parts.alerts.acknowledge(draft, live?.alert ?? alert, by, comment, shown);
        return;
      }
      case "silenced":
        this.#parts.alerts.putSilence(observation.silence, draft);
        return;
      case "started":
        draft.changes.milestones.push({
          atMs: draft.atMs,
          kind: "started",
          value: JSON.stringify({ version: observation.version, lastAliveMs: observation.lastAliveMs }),
        });
        return;
      case "stopped":
        draft.changes.milestones.push({ atMs: draft.atMs, kind: "stopped", value: "{}" });
        return;
      case "figures":
        this.#parts.given.take(observation, draft);
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
