/**
 * Whole daemons in a child process, each of which stops at each labelled step and goes on when the parent says so. The
 * parent may kill the process instead.
 *
 *   child ──loaded──► parent ──start──► child ──daemon, step, n──► parent ──go, n──► child …
 *
 * Run with the paths of their configurations; started before it is needed, so that loading the program costs nobody's
 * time.
 */
import { flushCompileCache } from "node:module";
import { pino } from "pino";
import { startDaemon } from "../../src/daemon/app.ts";
import { readSettings } from "../../src/daemon/settings.ts";
// The program loads these when it needs them.
import "discord.js";
import "nodemailer";

export type Step = Parameters<NonNullable<Parameters<typeof startDaemon>[1]["probe"]>>[0];
export type FromChild =
  | { readonly kind: "loaded" }
  /** `daemon`: which of the configurations, from 0. */
  | { readonly kind: "step"; readonly daemon: number; readonly step: Step; readonly n: number };
export type ToChild = { readonly kind: "start" } | { readonly kind: "go"; readonly n: number };

const tell = (message: FromChild): void => void process.send?.(message);
const waiting = new Map<number, () => void>();
let told = 0;

process.on("message", (message: ToChild) => {
  if (message.kind === "go") waiting.get(message.n)?.();
  else for (const [daemon, config] of process.argv.slice(2).entries()) void start(config, daemon);
});
// Without a parent there is nobody to go on for.
process.on("disconnect", () => process.exit(1));
// Written at the end of a process otherwise, which this one never comes to.
flushCompileCache();
tell({ kind: "loaded" });

async function start(config: string, daemon: number): Promise<void> {
  const read = await readSettings(config, process.env);
  if ("problems" in read) throw new Error(read.problems.map(({ message }) => message).join("\n"));
  const log = pino({ level: "info", base: { daemon } }, pino.destination({ fd: 2, sync: true }));
  const probe = (step: Step): Promise<void> =>
    new Promise((resolve) => {
      const n = ++told;
      waiting.set(n, () => {
        waiting.delete(n);
        resolve();
      });
      tell({ kind: "step", daemon, step, n });
    });
  const { broken } = await startDaemon(read.settings, { log, probe });
  await broken;
}
