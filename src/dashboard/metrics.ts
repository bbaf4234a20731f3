/**
 * `/metrics` in Prometheus's text format. Two kinds of figures:
 *
 *   perpwatch_position_margin_ratio{wallet,account,symbol}   the numeric figures of rules, by their names there
 *   perpwatch_channel_waiting_messages{channel}              the daemon's own, in base units (seconds, bytes)
 *
 * Figures of rules keep the units that rules see (USD, fractions, base units). One that is not known has no line; one
 * that does not exist (the liquidation distance of a flat account) is +Inf. All of them are read off one status at the
 * moment of the scrape, so that they belong together; only those of the Node process live between scrapes.
 */
import type { FastifyInstance } from "fastify";
import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { Clock } from "../domain/clock.ts";
import type { DashboardSource } from "../domain/ports.ts";
import { type Figure, figuresOf } from "./figures.ts";

export interface Metrics {
  readonly contentType: string;
  text(): Promise<string>;
}

export function createMetrics(source: Pick<DashboardSource, "status" | "ready">, clock: Clock): Metrics {
  const node = new Registry();
  collectDefaultMetrics({ register: node });
  return {
    contentType: node.contentType,
    async text() {
      const now = new Registry();
      for (const figure of figuresOf(source.status(), source.ready(), clock.nowMs())) register(now, figure);
      // The library writes a figure that there is none of yet as "Nan"; the format's word is NaN.
      const ofNode = (await node.metrics()).replace(/ Nan$/gm, " NaN");
      return `${await now.metrics()}\n${ofNode}`;
    },
  };
}

export function serveMetrics(app: FastifyInstance, metrics: Metrics): void {
  app.get("/metrics", async (_request, reply) => {
    reply.type(metrics.contentType);
    return metrics.text();
  });
}

function register(registry: Registry, { name, help, kind, labels, rows }: Figure): void {
  const definition = { name, help, labelNames: labels, registers: [registry] };
  const metric = kind === "counter" ? new Counter(definition) : new Gauge(definition);
  for (const { at, value } of rows) metric.inc(at, value);
}
