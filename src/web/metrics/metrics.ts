/**
 * `/metrics` in Prometheus's text format. There are two kinds of metrics:
 *
 *   perpwatch_position_margin_ratio{wallet,account,symbol}   the numeric figures of rules, by their names there
 *   perpwatch_channel_waiting_messages{channel}              the daemon's own, in base units (seconds, bytes)
 *
 * Figures of rules keep the units of rules (USD, fractions, base units). An unknown figure has no line; one that does
 * not exist (such as the liquidation distance of a flat account) is +Inf. All are from one status at the time of the
 * scrape, so they are consistent.
 *
 * prom-client collects and writes the metrics of the Node process. The others are written here, in pieces, so that
 * polls and messages get turns in between: a thousand wallets have 60,000 lines, for which its registry would block the
 * process for a second.
 */
import { setImmediate } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import { collectDefaultMetrics, Registry } from "prom-client";
import type { Clock } from "../../domain/clock.ts";
import type { DashboardSource } from "../../domain/ports.ts";
import { cachedAnswer } from "../cached-answer.ts";
import { type Figure, figuresOf, type Labels } from "./figures.ts";

/** Lines that are written before other work gets a turn: a few ms. */
const linesPerTurn = 5_000;

export interface Metrics {
  readonly contentType: string;
  /** @param whole false: without metrics that identify wallets */
  text(whole: boolean): Promise<string>;
}

export function createMetrics(source: Pick<DashboardSource, "status" | "ready">, clock: Clock): Metrics {
  const node = new Registry();
  collectDefaultMetrics({ register: node });
  return {
    contentType: node.contentType,
    async text(whole) {
      const figures = await figuresOf(source.status(), source.ready(), clock.nowMs());
      const own = await write(whole ? figures : withoutWallets(figures));
      // The library writes "Nan" for a metric without a value; the format requires NaN.
      return `${own}${(await node.metrics()).replace(/ Nan$/gm, " NaN")}`;
    },
  };
}

/** @param clock null: every scrape is computed; else it may be a second old */
export function serveMetrics(app: FastifyInstance, metrics: Metrics, clock: Clock | null): void {
  const textOf = (whole: boolean) => {
    const text = () => metrics.text(whole);
    return clock === null ? text : cachedAnswer(clock, text);
  };
  const [whole, anonymous] = [textOf(true), textOf(false)];
  app.get("/metrics", { config: { access: "local" } }, async ({ caller }, reply) => {
    reply.type(metrics.contentType);
    return caller.rights === null ? anonymous() : whole();
  });
}

/** Removes metrics of wallets. Positions are public on the chain, so their figures identify a wallet as its name does. */
function withoutWallets(figures: readonly Figure[]): readonly Figure[] {
  return figures
    .map((figure) => ({ ...figure, rows: figure.rows.filter(({ at }) => (at.wallet ?? "") === "") }))
    .filter(({ rows }) => rows.length > 0);
}

async function write(figures: readonly Figure[]): Promise<string> {
  // Metrics of one subject share their labels.
  const known = new Map<Labels, string>();
  let text = "";
  let lines = 0;
  for (const { name, help, kind, rows } of figures) {
    text += `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n`;
    for (const { at, value } of rows) {
      let labels = known.get(at);
      if (labels === undefined) {
        labels = labelText(at);
        known.set(at, labels);
      }
      text += `${name}${labels} ${numberText(value)}\n`;
      if (++lines % linesPerTurn === 0) await setImmediate();
    }
  }
  return text;
}

function labelText(labels: Labels): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return parts.length === 0 ? "" : `{${parts.join(",")}}`;
}

function escaped(text: string): string {
  return text.replace(/[\\"\n]/g, (letter) => (letter === "\n" ? "\\n" : `\\${letter}`));
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  return value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value);
}
