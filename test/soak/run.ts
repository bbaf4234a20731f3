/**
 * `npm run soak`: the full length of what the tests do a tenth or a twentieth of.
 *
 *   requests    100,000 mutated requests and stream messages at a simulator                 requests.ts
 *   deliveries  20,000 events while the daemon is killed and its channels misbehave         deliveries.ts
 *
 *   npm run soak -- [--seed N] [--count N] [--kills N] [requests|deliveries …]
 *
 * Ends with 1 where something is not as it has to be. Seeds are printed; the same seed plans the same events, kills and
 * troubles again, as far as chance allows where processes are killed.
 */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { soak, soakTable } from "./deliveries.ts";
import { soakRequests } from "./requests.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: "string" }, count: { type: "string" }, kills: { type: "string", default: "205" } },
});
const parts = ["requests", "deliveries"] as const;
const unknown = positionals.find((one) => !(parts as readonly string[]).includes(one));
if (unknown !== undefined) {
  console.error(`there is no part "${unknown}"; there are ${parts.join(", ")}`);
  process.exit(2);
}
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
