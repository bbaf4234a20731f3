/**
 * `npm run bench`: what watching costs, measured on the machine at hand, in one run. `help` below tells how it is called.
 *
 * Each part runs in processes of its own, the measured one on one core and the server on another, where the system can
 * hold them there. Nothing here passes or fails: other work on the machine shows in the figures, so its load is printed.
 */
import fs from "node:fs";
import path from "node:path";
import { refuse, scriptOptions } from "../support/script-options.ts";
import type { LatencyResult } from "./daemon/latency.ts";
import { load, machine } from "./daemon/machine.ts";
import type { PacedResult } from "./daemon/paced.ts";
import type { PollsResult } from "./daemon/polls.ts";
import { end, measured, start } from "./daemon/process.ts";
import { latencyTable, paceTable, pollsTable } from "./daemon/tables.ts";
import type { AcceptedResult } from "./delivery/accepted.ts";
import type { StormResult } from "./delivery/storm.ts";
import { acceptedTable, stormTable } from "./delivery/tables.ts";
import type { SpaceResult } from "./history/space.ts";
import type { StartResult } from "./history/start.ts";
import { spaceTable, startTable, tidyTable } from "./history/tables.ts";
import type { TidyResult } from "./history/tidy.ts";
import type { CostResult } from "./ingest/cost.ts";
import type { FleetResult } from "./ingest/fleet.ts";
import { costTable, fleetTable } from "./ingest/tables.ts";
import type { LanguageResult } from "./rules/language.ts";
import { languageTable } from "./rules/tables.ts";

const parts = ["polls", "pace", "latency", "storm", "space", "tidy", "start", "ingest", "rules"] as const;
const help = `Usage: npm run bench -- [options] [part …]

Measures on this machine, in one run; without a part all of them. Nothing passes or fails; the machine's load is printed.

  polls     polls a second on one core, end to end, against a bare loop over the same data
  pace      processor time and memory of many wallets at 5 s
  latency   from a condition being true at the exchange, and from an alert that fires, to a message accepted by a channel
  storm     5,000 events in a minute on channels that take one message a second
  space     bytes of the past on disk, and what recording costs
  tidy      what retention and roll-up keep waiting
  start     until all is judged with 50 million samples on disk (made once, kept in /tmp)
  ingest    an answer from its bytes to its commit, against a bare loop; many wallets
  rules     what windows, many rules and a long past cost the judging

  --quick      a short run of each, for a first look
  --json FILE  writes the figures there as well
  --help       prints this

Ends with 2 where the options cannot be used.

Examples:
  npm run bench -- --quick
  npm run bench -- latency polls --json figures.json`;

const { values, positionals } = scriptOptions(help, {
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false }, json: { type: "string" } },
});
const unknown = positionals.find((one) => !(parts as readonly string[]).includes(one));
if (unknown !== undefined) refuse(`there is no part "${unknown}"; there are ${parts.join(", ")}`);
const wanted = (part: (typeof parts)[number]): boolean =>
  positionals.length === 0 || positionals.includes(part);

const { quick } = values;
const on = machine();
const script = (name: string, folder = "daemon"): string =>
  path.join(import.meta.dirname, folder, `${name}.ts`);
const [own, others] = on.pinned ? [0, 1] : [null, null];
const say = (line: string): void => console.log(line);

const startedAt = new Date();
say(`${on.model}, ${on.cores} cores, ${on.memoryGiB} GiB, ${on.platform}, Node ${on.node}`);
say(
  `${startedAt.toISOString()}, load ${load().toFixed(2)}; ${
    on.pinned ? "measured on one core, the server on another" : "not held on one core: taskset is missing"
  }`,
);

const results: {
  machine: typeof on;
  startedAt: string;
  load: Record<string, number>;
  polls?: PollsResult;
  pace?: PacedResult[];
  latency?: LatencyResult;
  accepted?: AcceptedResult;
  storm?: StormResult;
  space?: SpaceResult;
  tidy?: TidyResult;
  start?: StartResult;
  ingest?: { cost: CostResult; fleet: FleetResult[] };
  rules?: LanguageResult;
} = { machine: on, startedAt: startedAt.toISOString(), load: { before: load() } };

if (wanted("polls")) {
  const server = start([script("server")], others);
  const url = await server.line;
  const [seconds, rounds] = quick ? ["0.5", "6"] : ["1", "30"];
  results.polls = await measured<PollsResult>([script("polls"), url, seconds, rounds], own);
  await end(server);
  say(`\n${pollsTable(results.polls)}`);
  results.load.afterPolls = load();
}
if (wanted("pace")) {
  results.pace = [];
  for (const wallets of quick ? ["200"] : ["1000", "5000"]) {
    const server = start([script("server")], others);
    const url = await server.line;
    results.pace.push(await measured<PacedResult>([script("paced"), url, wallets, quick ? "5" : "30"], own));
    await end(server);
  }
  say(`\n${paceTable(results.pace)}`);
  results.load.afterPace = load();
}
if (wanted("latency")) {
  results.latency = await measured<LatencyResult>([script("latency"), quick ? "9" : "90"], own);
  say(`\n${latencyTable(results.latency)}`);
  results.accepted = await measured<AcceptedResult>(
    [script("accepted", "delivery"), quick ? "50" : "300"],
    own,
  );
  say(`\n${acceptedTable(results.accepted)}`);
  results.load.afterLatency = load();
}
if (wanted("storm")) {
  const size = quick ? ["1000", "12"] : ["5000", "60"];
  results.storm = await measured<StormResult>([script("storm", "delivery"), ...size], null);
  say(`\n${stormTable(results.storm)}`);
  results.load.afterStorm = load();
}

if (wanted("space")) {
  const size = quick ? ["50", "100"] : ["200", "200"];
  results.space = await measured<SpaceResult>([script("space", "history"), ...size], own);
  say(`\n${spaceTable(results.space)}`);
}
if (wanted("tidy")) {
  results.tidy = await measured<TidyResult>([script("tidy", "history"), "40", quick ? "500" : "4000"], own);
  say(`\n${tidyTable(results.tidy)}`);
}
if (wanted("start")) {
  const size = quick ? ["1000000", "20"] : ["50000000", "100"];
  results.start = await measured<StartResult>([script("start", "history"), ...size], own);
  say(`\n${startTable(results.start)}`);
}
if (wanted("ingest")) {
  const size = quick ? ["20", "200"] : ["200", "500"];
  const cost = await measured<CostResult>([script("cost", "ingest"), ...size], own);
  const fleet: FleetResult[] = [];
  for (const wallets of quick ? ["200"] : ["1000", "5000"])
    fleet.push(
      await measured<FleetResult>(
        [script("fleet", "ingest"), wallets, ...(quick ? ["10", "10"] : ["60", "60"])],
        own,
      ),
    );
  results.ingest = { cost, fleet };
  say(`\n${costTable(cost)}\n\n${fleetTable(fleet)}`);
}
if (wanted("rules")) {
  results.rules = await measured<LanguageResult>([script("language", "rules"), quick ? "10" : "365"], own);
  say(`\n${languageTable(results.rules)}`);
}

const tookS = (Date.now() - startedAt.getTime()) / 1_000;
say(`\n${tookS.toFixed(0)} s; load now ${load().toFixed(2)}`);
if (values.json !== undefined)
  fs.writeFileSync(values.json, `${JSON.stringify({ ...results, tookS }, null, 2)}\n`);
