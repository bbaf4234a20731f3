/** The reach of many scenarios: each trouble with each feature of a world, and each rule that fired and ended. */
import fs from "node:fs";
import { parse } from "yaml";
import { linesOf } from "./config.ts";
import { faultKinds, lifeKinds } from "./faults.ts";
import { isWhale } from "./names.ts";
import type { Judgement } from "./oracle/judge.ts";
import type { Outcome, Plan } from "./scenario.ts";
import { startKinds } from "./start.ts";

/** The part that one scenario adds; plain data, since it crosses processes. */
export interface Reach {
  readonly troubles: readonly string[];
  readonly features: readonly string[];
  readonly rules: readonly (readonly [
    rule: string,
    count: { readonly fired: number; readonly ended: number },
  ])[];
}

/** Each trouble has to meet each feature in so many scenarios, and each shipped rule to fire and to end so many times. */
export const least = { pairs: 50, rules: 100 };
/** Fewer scenarios than this cannot reach all of it. */
export const enoughScenarios = 1_000;

/** A price that moves by this share at once leaves a gap. */
const gapShare = 0.1;
/** Funding of an interval that a trader feels, percent. */
const dearPercent = 0.01;

/** Those that a plan has. */
const planned: Readonly<Record<string, (outcome: { readonly plan: Plan }) => boolean>> = {
  "one wallet": ({ plan }) => plan.world.wallets.length === 1,
  "over six": ({ plan }) => plan.world.wallets.length > 6,
  "PDA indices": ({ plan }) => plan.world.wallets.some(({ pdaIndices }) => pdaIndices.length > 1),
  isolated: ({ plan }) => plan.world.accounts.some(({ subaccount }) => subaccount > 0),
  spot: ({ plan }) => plan.world.accounts.some(({ spot }) => spot > 0),
  "brief account": ({ plan }) => plan.world.accounts.some(({ collateral }) => collateral === 0),
  "watch-only": ({ plan }) => plan.world.wallets.some(({ watchOnly }) => watchOnly),
  flat: ({ plan }) =>
    plan.world.accounts.some(
      (_, index) => !plan.world.deeds.some((deed) => "account" in deed && deed.account === index),
    ),
  long: ({ plan }) => plan.world.deeds.some((deed) => deed.kind === "trade" && deed.leverage > 0),
  short: ({ plan }) => plan.world.deeds.some((deed) => deed.kind === "trade" && deed.leverage < 0),
  "closed partly": ({ plan }) => plan.world.deeds.some((deed) => deed.kind === "close" && deed.share < 1),
  flip: ({ plan }) => plan.world.deeds.some((deed) => deed.kind === "close" && deed.share > 1),
  stop: ({ plan }) => plan.world.deeds.some((deed) => deed.kind === "stop" && deed.distance !== null),
  "stop lost": ({ plan }) => plan.world.deeds.some((deed) => deed.kind === "stop" && deed.distance === null),
  gap: ({ plan }) =>
    plan.world.deeds.some((deed) => deed.kind === "mark" && Math.abs(deed.factor - 1) >= gapShare),
  "dear funding": ({ plan }) =>
    plan.world.deeds.some((deed) => deed.kind === "settle" && Math.abs(deed.percent) >= dearPercent),
  "after hours": (outcome) => hasDeed(outcome, "hours"),
  money: (outcome) => hasDeed(outcome, "money", "transfer"),
  halt: (outcome) => hasDeed(outcome, "halt"),
  delisting: (outcome) => hasDeed(outcome, "delist"),
  session: (outcome) => hasDeed(outcome, "session"),
  rights: (outcome) => hasDeed(outcome, "rights"),
  "old orders": ({ plan }) =>
    plan.world.deeds.some((deed) => deed.kind === "order" && deed.restedMs !== undefined),
  gates: (outcome) => hasDeed(outcome, "gate"),
  "spot sold": (outcome) => hasDeed(outcome, "sell spot"),
  hedge: ({ plan }) => plan.world.pairs.length > 0,
  whale: ({ plan }) => plan.world.wallets.some(isWhale),
  limit: ({ plan }) => plan.world.requestsPerSecond !== null,
  ...Object.fromEntries(
    startKinds.map((kind) => [
      `at: ${kind}`,
      ({ plan }: { readonly plan: Plan }) => plan.start.kind === kind,
    ]),
  ),
};

const features: Readonly<Record<string, (outcome: Outcome) => boolean>> = {
  ...planned,
  "partly sold": (outcome) => isLiquidated(outcome, "market_order", false),
  "wholly sold": (outcome) => isLiquidated(outcome, "market_order", true),
  backstop: (outcome) => isLiquidated(outcome, "backstop"),
  ADL: (outcome) => isLiquidated(outcome, "adl"),
};

export const featureNames: readonly string[] = Object.keys(features);

const hasDeed = ({ plan }: { readonly plan: Plan }, ...kinds: readonly string[]): boolean =>
  plan.world.deeds.some(({ kind }) => kinds.includes(kind));

/** @param whole the position was closed by it; absent: either */
function isLiquidated({ simulator }: Outcome, kind: string, whole?: boolean): boolean {
  return [...simulator.world.wallets.values()].some(({ liquidations }) =>
    liquidations
      .all()
      .some(
        ({ detail }) =>
          detail.kind === kind &&
          (whole === undefined || (detail.kind === "market_order" && detail.positionClosed === whole)),
      ),
  );
}

/** Troubles of streams: without streams they hit nothing. */
const ofStreams: ReadonlySet<string> = new Set([
  ...["framesLost", "framesTwice", "framesLate", "halfOpen", "streamsDown", "streamsBreak"],
]);

type Trouble = Plan["troubles"]["faults"][number] | Plan["troubles"]["life"][number];

/** The troubles of a plan, without those of channels and streams that its configuration does not have. */
function troublesOf({ seed, troubles: { faults, life } }: Plan): readonly Trouble[] {
  const { channels, streams } = linesOf(seed);
  return [...faults, ...life].filter(
    (one) => (!("channel" in one) || channels.includes(one.channel)) && (streams || !ofStreams.has(one.kind)),
  );
}

/** An answer that takes longer is a slow one, ms: the usual ones take less than a second. */
const slowMs = 2_000;

const isOf = ({ wallets }: { readonly wallets: readonly string[] }, account: string): boolean =>
  wallets.includes(account.slice(0, account.indexOf("/")));

/** True if a trouble of a scenario hit something: it was there to be hit. */
function hasHit(trouble: Trouble, { log, plan }: Outcome): boolean {
  const { kind } = trouble;
  const isSaid = (pattern: RegExp): boolean => log.of("life").some(({ text }) => pattern.test(text));
  if (kind === "kill") return isSaid(/^is killed$/);
  if (kind === "reload") return isSaid(/^is reloaded$/);
  // The end of the scenario tells the last life to stop as well.
  if (kind === "restart") return log.of("life").filter(({ text }) => text === "is told to stop").length > 1;
  if (kind === "stall") return log.of("stalled").length > 0;
  if (kind === "diskFull") return log.of("refused").length > 0;
  if (ofStreams.has(kind)) return log.of("streamOpens").length > 0;
  if (!("toMs" in trouble)) return true;
  const beginMs = plan.start.atMs;
  const isWithin = ({ atMs }: { readonly atMs: number }): boolean =>
    atMs >= beginMs + trouble.fromMs && atMs <= beginMs + trouble.toMs;
  if (kind === "errors" || kind === "partErrors")
    return log.of("asked").some((one) => (one.status ?? 0) >= 500 && isWithin(one));
  if (kind === "limited") return log.of("asked").some((one) => one.status === 429 && isWithin(one));
  if (kind === "slow")
    return log.of("asked").some(({ atMs, sentMs }) => atMs - sentMs >= slowMs && isWithin({ atMs: sentMs }));
  if (kind === "historiesLate")
    return log
      .of("ledger")
      .some((one) => isWithin(one) && one.accounts.some(({ name }) => isOf(trouble, name)));
  if (!("channel" in trouble)) return log.of("sent").some(isWithin);
  return log.of("attempt").some((one) => one.channel === trouble.channel && isWithin(one));
}

const kindsOf = (troubles: readonly Trouble[]): readonly string[] => [
  ...new Set(troubles.map(({ kind }) => kind)),
];

/** Stands in `pairsOf` for each kind of liquidation. */
const anySale = "sold";

/** The chance of each way of being liquidated, by the number of wallets: the least of 1,803 scenarios. No plan tells of it. */
const soldChances = [0, 0.08, 0.127, 0.136] as const;
const maxSoldChance = 0.2;

/** The pairs of a trouble and a feature that a plan may bring about, as `trouble feature`, and how likely each is. */
export function pairsOf(plan: Plan): ReadonlyMap<string, number> {
  const own = Object.entries(planned).flatMap(([name, has]) => (has({ plan }) ? [name] : []));
  const sold = soldChances[plan.world.wallets.length] ?? maxSoldChance;
  return new Map(
    kindsOf(troublesOf(plan)).flatMap((trouble) => [
      ...own.map((feature) => [`${trouble} ${feature}`, 1] as const),
      [`${trouble} ${anySale}`, sold] as const,
    ]),
  );
}

export function reachOf(outcome: Outcome, { counts }: Judgement): Reach {
  return {
    troubles: kindsOf(troublesOf(outcome.plan).filter((one) => hasHit(one, outcome))),
    features: Object.entries(features).flatMap(([name, has]) => (has(outcome) ? [name] : [])),
    rules: [...counts],
  };
}

/** Names of the rules in all packs that come with the program. */
export function shippedRules(): readonly string[] {
  const folder = new URL("../../rules/", import.meta.url);
  const packs = fs
    .readdirSync(folder)
    .filter((name) => name.endsWith(".yaml") && !name.endsWith(".test.yaml"));
  return packs.flatMap((name) => {
    const { rules } = parse(fs.readFileSync(new URL(name, folder), "utf8")) as {
      readonly rules: readonly { readonly name: string }[];
    };
    return rules.map((rule) => rule.name);
  });
}

export class Coverage {
  readonly #pairs = new Map<string, number>();
  readonly #rules = new Map<string, { fired: number; ended: number }>();

  add({ troubles, features, rules }: Reach): void {
    for (const trouble of troubles)
      for (const feature of features) {
        const key = `${trouble} ${feature}`;
        this.#pairs.set(key, (this.#pairs.get(key) ?? 0) + 1);
      }
    for (const [rule, { fired, ended }] of rules) {
      const sum = this.#rules.get(rule) ?? { fired: 0, ended: 0 };
      this.#rules.set(rule, { fired: sum.fired + fired, ended: sum.ended + ended });
    }
  }

  /** Scenarios in which each pair of `pairsOf` has met: for the liquidations, of which no plan tells, the fewest of any kind. */
  met(): ReadonlyMap<string, number> {
    const sold = featureNames.filter((name) => !(name in planned));
    const met = new Map(this.#pairs);
    for (const trouble of troubles)
      met.set(`${trouble} ${anySale}`, Math.min(...sold.map((name) => this.#pair(trouble, name))));
    return met;
  }

  /** A table of troubles, a line for each of their features, and a line for each rule. */
  lines(): readonly string[] {
    const row = (name: string, cells: readonly (string | number)[]): string =>
      `${name.padEnd(18)}${cells.map((cell) => String(cell).padStart(8)).join("")}`;
    const rules = [...this.#rules].sort(([a], [b]) => a.localeCompare(b));
    const names = featureNames;
    return [
      "",
      ...names.map((name, index) => `feature ${index + 1}: ${name}`),
      "",
      row(
        "scenarios with",
        names.map((_, index) => index + 1),
      ),
      ...troubles.map((trouble) =>
        row(
          trouble,
          names.map((name) => this.#pair(trouble, name)),
        ),
      ),
      "",
      ...rules.map(([rule, { fired, ended }]) => `${rule.padEnd(28)}fired ${fired}, ended ${ended}`),
    ];
  }

  /** A line for each trouble and rule of which there is too little. */
  short(): readonly string[] {
    const pairs = troubles.flatMap((trouble) => {
      const few = featureNames.filter((name) => this.#pair(trouble, name) < least.pairs);
      const found = few.map((name) => `${name} ${this.#pair(trouble, name)}`);
      return few.length === 0 ? [] : [`${trouble} in less than ${least.pairs} with: ${found.join(", ")}`];
    });
    const rules = shippedRules().flatMap((rule) => {
      const { fired, ended } = this.#rules.get(rule) ?? { fired: 0, ended: 0 };
      if (Math.min(fired, ended) >= least.rules) return [];
      return [`${rule} fired ${fired} and ended ${ended} times, less than ${least.rules}`];
    });
    return [...pairs, ...rules];
  }

  #pair(trouble: string, feature: string): number {
    return this.#pairs.get(`${trouble} ${feature}`) ?? 0;
  }
}

const troubles: readonly string[] = [...faultKinds, ...lifeKinds];
