/**
 * `/metrics` in Prometheus's text format. Two kinds of figures:
 *
 *   perpwatch_position_margin_ratio{wallet,account,symbol}   the numeric figures of rules, by their names there
 *   perpwatch_channel_waiting_messages{channel}              the daemon's own, in base units (seconds, bytes)
 *
 * Figures of rules keep the units that rules see (USD, fractions, base units). One that is not known has no line; one
 * that does not exist (the liquidation distance of a flat account) is +Inf. All of them are read off one status at the
 * moment of the scrape, so that they belong together.
 *
 * prom-client keeps and writes the figures of the Node process. Ours are written here, a piece at a time so that polls
 * and messages have their turn in between: a thousand wallets are 60,000 lines, for which its registry stops the process
 * for a second.
 */
import { setImmediate } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import { collectDefaultMetrics, Registry } from "prom-client";
import type { Clock } from "../domain/clock.ts";
import type { DashboardSource } from "../domain/ports.ts";
import { type Figure, figuresOf, type Labels } from "./figures.ts";
import { recent } from "./recent.ts";

/** Lines that are written before others have their turn: a few ms. */
const linesInOnePiece = 5_000;

export interface Metrics {
  readonly contentType: string;
  /** @param whole false: without what tells whose wallets these are */
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
      // The library writes a figure that there is none of yet as "Nan"; the format's word is NaN.
      return `${own}${(await node.metrics()).replace(/ Nan$/gm, " NaN")}`;
    },
  };
}

/** @param clock null: each scrape has figures of its own moment; else they may be a second old */
export function serveMetrics(app: FastifyInstance, metrics: Metrics, clock: Clock | null): void {
  const textOf = (whole: boolean) => {
    const text = () => metrics.text(whole);
    return clock === null ? text : recent(clock, text);
  };
  const [whole, bare] = [textOf(true), textOf(false)];
  app.get("/metrics", { config: { access: "local" } }, async ({ caller }, reply) => {
    reply.type(metrics.contentType);
    return caller.rights === null ? bare() : whole();
  });
}

/** Positions are public on the chain: their figures name an address as much as a wallet's name does. */
function withoutWallets(figures: readonly Figure[]): readonly Figure[] {
  return figures
    .map((figure) => ({ ...figure, rows: figure.rows.filter(({ at }) => (at.wallet ?? "") === "") }))
    .filter(({ rows }) => rows.length > 0);
}

async function write(figures: readonly Figure[]): Promise<string> {
  // The figures of one subject share their labels.
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
      if (++lines % linesInOnePiece === 0) await setImmediate();
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
