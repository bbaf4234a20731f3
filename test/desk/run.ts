/**
 * `npm run desk`: an hour at a desk of twelve wallets, and what the daemon said of it. `help` below tells how it is called.
 *
 * Time is real. The hour is compressed by shorter schedules (1–10 s), by `for` and `keepFiringFor` of 3 and 5 s, and by a window of
 * 40 s in place of the 10 min of LosingFast; staleness and the 30 s before a no-data message are the daemon's own.
 * The expectation rests on the simulator's state, its journals and the acts of the script, with arithmetic of its own (truth.ts,
 * models.ts). Ends with 0 only if nothing was lost, false or wrong.
 */
import { rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { refuse, scriptOptions } from "../support/script-options.ts";
import { Desk, midnightMs, time } from "./desk.ts";
import { columns } from "./findings.ts";
import { Judge, textOf } from "./judge.ts";
import type { Context } from "./models.ts";
import { quick, type Scene, scenes } from "./scenes.ts";
import { pairs, wallets } from "./wallets.ts";

const help = `Usage: npm run desk -- [options]

Plays an hour at a desk of twelve wallets, and compares each notification with what happened: lost, false, late, twice.

  --daemon DIR    a checkout whose daemon is judged (this one)
  --scene A,B     only these, each on the same beginning: ${scenes.map(({ name }) => name).join(", ")}
  --quick         less than a minute
  --seed N        (11)
  --grace MS      added to each deadline, for machines that are busy (0)
  --keep          keeps database and log although nothing is wrong
  --help          prints this

Ends with 1 where something was lost, false or wrong, with 2 where the options cannot be used.

Examples:
  npm run desk
  npm run desk -- --quick
  npm run desk -- --scene calm --keep`;

const { values } = scriptOptions(help, {
  options: {
    daemon: { type: "string" },
    scene: { type: "string" },
    quick: { type: "boolean", default: false },
    seed: { type: "string", default: "11" },
    grace: { type: "string", default: "0" },
    keep: { type: "boolean", default: false },
  },
});

const wanted = values.scene?.split(",");
const unknown = wanted?.filter((name) => !scenes.some((scene) => scene.name === name)) ?? [];
if (unknown.length > 0)
  refuse(`there is no scene ${unknown.join(", ")}; there are ${scenes.map(({ name }) => name).join(", ")}`);
const played: readonly Scene[] = values.quick
  ? [quick]
  : scenes.filter(({ name }) => !wanted || wanted.includes(name));

const checkout = path.resolve(values.daemon ?? fileURLToPath(new URL("../..", import.meta.url)));
const seed = Number(values.seed);
console.log(`seed ${seed}, daemon of ${checkout}`);
const beganMs = performance.now();
const desk = await Desk.open({
  checkout,
  seed,
  say: console.log,
  beforeMidnightMs: values.quick ? 15_000 : 30_000,
});
let broken: unknown;
try {
  await desk.start();
  if (!values.quick && wanted && !wanted.includes("calm"))
    await desk.pause(Math.max(0, midnightMs + 3_000 - desk.now()));
  for (const scene of played) {
    console.log(`\n${time(desk.now())}  ${scene.name}: ${scene.about}`);
    const fromMs = desk.scenes.length === 0 ? desk.startedMs : desk.now();
    const sent = desk.receiver.items.length;
    await scene.play(desk);
    desk.scenes.push({ name: scene.name, fromMs, toMs: desk.now() });
    console.log(`${time(desk.now())}    ${desk.receiver.items.length - sent} sent`);
  }
} catch (error) {
  broken = error;
}
desk.sample();
const untilMs = desk.now();
await desk.close();
if (broken !== undefined) throw broken;

const context: Context = {
  trace: desk.trace,
  pairs,
  labels: new Map(wallets.map(({ name, labels }) => [name, labels])),
  limits: new Map(wallets.map(({ name, limits }) => [name, limits ?? {}])),
  midnight: (atMs) => (atMs >= midnightMs ? midnightMs : null),
  startedMs: desk.startedMs,
  withdrawals: new Map(
    [...desk.simulator.world.wallets.values()].map(({ name, collateral }) => [
      name,
      collateral.all().flatMap(({ type, atMs }) => (type === "withdrawal" ? [atMs] : [])),
    ]),
  ),
};
const { receiver } = desk;
const findings = new Judge(desk, context, untilMs, Number(values.grace)).run();
const sent = receiver.items.map(
  (item) => `${time(item.atMs)} ${textOf(item)}${item.alreadySo ? " (already so)" : ""}`,
);
writeFileSync(path.join(desk.folder, "sent.txt"), `${sent.join("\n")}\n`);
writeFileSync(path.join(desk.folder, "sent.json"), JSON.stringify(receiver.items, null, 1));

for (const one of [...findings.discrepancies].sort((a, b) => a.atMs - b.atMs)) {
  console.log(`\n${time(one.atMs)} ${one.scene}, ${one.wallet}: ${one.fault.toUpperCase()}`);
  console.log(`  sent:  ${one.text}`);
  console.log(`  true:  ${one.truth}`);
  for (const line of desk.daemon.linesBetween(one.atMs - 3_000, one.atMs + 3_000, 3))
    console.log(`  log:   ${line}`);
}
console.log(`\n${findings.table(played.map(({ name }) => name))}`);
const took = ((performance.now() - beganMs) / 1_000).toFixed(0);
console.log(
  `\n${receiver.messages} messages, ${receiver.copies} copies, ${receiver.unnamed} changes only counted, ${receiver.broken.length} broken; ` +
    `timers of this script up to ${desk.worstLagMs.toFixed(0)} ms late; ${took} s, seed ${seed}`,
);
for (const one of receiver.broken) console.log(one);
const { total } = findings;
const wrong =
  columns.slice(2).reduce((sum, column) => sum + total[column], 0) +
  receiver.unnamed +
  receiver.broken.length;
if (wrong === 0 && !values.keep) rmSync(desk.folder, { recursive: true, force: true });
else console.log(`log, database and messages are kept in ${desk.folder}`);
process.exit(wrong === 0 ? 0 : 1);
