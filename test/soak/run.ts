/** `npm run soak`: the full length of what the tests do a tenth or a twentieth of. `help` below tells how it is called. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { refuse, scriptOptions } from "../support/script-options.ts";
import { soak, soakTable } from "./deliveries.ts";
import { soakRequests } from "./requests.ts";

const help = `Usage: npm run soak -- [options] [requests|deliveries …]

  requests    100,000 mutated requests and stream messages at a simulator
  deliveries  20,000 events while the daemon is killed and its channels misbehave

  --seed N    plans the same events, kills and troubles again, as far as chance allows where processes are killed
              (a new one, which is printed)
  --count N   requests, or events
  --kills N   times that the daemon is killed (205)
  --help      prints this

Ends with 1 where something is not as it has to be, with 2 where the options cannot be used.

Examples:
  npm run soak
  npm run soak -- --seed 7 --count 2000 --kills 20 deliveries`;

const { values, positionals } = scriptOptions(help, {
  allowPositionals: true,
  options: { seed: { type: "string" }, count: { type: "string" }, kills: { type: "string", default: "205" } },
});
const parts = ["requests", "deliveries"] as const;
const unknown = positionals.find((one) => !(parts as readonly string[]).includes(one));
if (unknown !== undefined) refuse(`there is no part "${unknown}"; there are ${parts.join(", ")}`);
const wanted = (part: (typeof parts)[number]): boolean =>
  positionals.length === 0 || positionals.includes(part);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
console.log(`seed ${seed}`);

if (wanted("requests")) await soakRequests(seed, Number(values.count ?? 100_000));

if (wanted("deliveries")) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "perpwatch-soak-"));
  const result = await soak({
    folder,
    events: Number(values.count ?? 20_000),
    kills: Number(values.kills),
    perStep: 1,
    seed,
    longestLifeMs: 2_000,
    say: console.log,
  });
  console.log(`\n${soakTable(result)}`);
  const { lost, inTwo, acknowledgedEarly, copies, inWindow, mostInWindow, mailsWithoutAnswer } = result;
  const wrong = [
    ...Object.entries(lost).flatMap(([name, titles]) => titles.map((one) => `${one}: lost on ${name}`)),
    ...Object.entries(inTwo).flatMap(([name, titles]) => titles.map((one) => `${one}: twice on ${name}`)),
    ...acknowledgedEarly.map((one) => `${one}: acknowledged before it was delivered`),
    ...(result.unacknowledged > 0 ? [`${result.unacknowledged} events were never acknowledged`] : []),
    ...(result.dead > 0 ? [`${result.dead} messages were given up`] : []),
    ...(copies.chat > 0 ? [`${copies.chat} messages arrived twice by the Discord bot`] : []),
    ...(mostInWindow.mail > 1 || copies.mail > inWindow.mail + mailsWithoutAnswer
      ? ["mails arrived more often than kills and cut lines explain"]
      : []),
  ];
  if (wrong.length === 0) fs.rmSync(folder, { recursive: true, force: true });
  else {
    console.error(`${wrong.slice(0, 100).join("\n")}\nthe database is kept in ${folder}`);
    process.exit(1);
  }
}
