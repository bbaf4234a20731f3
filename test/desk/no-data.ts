/**
 * Messages about what cannot be read: there within a minute, with the right cause, not more than needed, and no recovery before
 * what they speak of has recovered.
 */
import { type Trouble, time } from "./desk.ts";
import { type Judge, textOf } from "./judge.ts";
import type { Item } from "./receiver.ts";

export const noDataRules: readonly string[] = [
  "Blind",
  "NoData",
  "ExchangeUnreachable",
  "PollsFailing",
  "StreamDown",
];

const withinMs = 60_000;
/** Shorter than this nothing has to be said of it. */
const shortMs = 61_000;
const recoveryMs = 40_000;
/** A beginning; where it gets worse, one more. */
const maxAlerts = 2;

const causes: Readonly<Record<Trouble["kind"], RegExp>> = {
  outage: /not answer|unreachable|refused|connect|network|reset|no connection/i,
  refused: /503|server error|unavailable|refus|fail/i,
  limited: /rate.?limit|429|too many/i,
  down: /./,
};

export function judgeNoData(judge: Judge): void {
  const items = judge.desk.receiver.items.filter(({ rule }) => noDataRules.includes(rule));
  const troubles = judge.desk.troubles.filter(({ kind }) => kind !== "down");
  for (const item of items) {
    if (item.change === "ended") recovery(judge, item, troubles);
    else if (item.change !== "fell" && item.change !== "acknowledged") beginning(judge, item, troubles);
  }
  for (const trouble of troubles) expected(judge, trouble, items);
}

const wordsOf = (item: Item): string =>
  [item.summary, item.description, ...Object.entries(item.figures).flat()].join(" ");

const touches = (trouble: Trouble, wallet: string | null): boolean =>
  wallet === null || trouble.wallets === null || trouble.wallets.includes(wallet);

function beginning(judge: Judge, item: Item, troubles: readonly Trouble[]): void {
  // A little after the end there may be some that have not been read again.
  const cause = troubles.find(
    (one) => touches(one, item.wallet) && one.fromMs + 4_000 <= item.atMs && one.toMs + 10_000 >= item.atMs,
  );
  if (!cause) {
    const ended = troubles.filter((one) => one.toMs < item.atMs).at(-1);
    judge.report("false", item, `everything can be read${ended ? ` since ${time(ended.toMs)}` : ""}`);
    return;
  }
  const words = wordsOf(item);
  if (item.rule !== "StreamDown" && !causes[cause.kind].test(words))
    judge.report("false", item, `the cause is ${nameOf(cause)}; the text names another one, or none`);
  if (cause.kind === "refused" && /exchange (itself )?does not answer/i.test(words))
    judge.report("false", item, `the exchange answers; only ${cause.wallets?.join(", ")} get 503`);
  const counted = /no data (?:of|on|for)|blind on/i.test(item.summary)
    ? /(\d+) (?:of \d+ )?wallets/i.exec(item.summary)?.[1]
    : undefined;
  const wallets = cause.wallets?.length ?? judge.context.labels.size;
  if (counted !== undefined && Number(counted) > wallets)
    judge.report("wrong figures", item, `${wallets} wallets cannot be read, not ${counted}`);
}

function recovery(judge: Judge, item: Item, troubles: readonly Trouble[]): void {
  const still = troubles.find(
    (one) => touches(one, item.wallet) && one.fromMs < item.atMs - 500 && one.toMs > item.atMs + 500,
  );
  if (still && item.ending === "recovered" && item.rule !== "StreamDown")
    judge.report("false recovery", item, `${nameOf(still)} until ${time(still.toMs)}`);
}

function expected(judge: Judge, trouble: Trouble, items: readonly Item[]): void {
  const scene = judge.sceneAt(trouble.fromMs + 1_000);
  const next =
    judge.desk.troubles.find(({ kind, fromMs }) => kind !== "down" && fromMs > trouble.toMs)?.fromMs ??
    Number.POSITIVE_INFINITY;
  const lastMs = Math.min(trouble.toMs + 60_000, next);
  const fromHere = items.filter(({ atMs }) => atMs >= trouble.fromMs && atMs < lastMs);
  const begun = fromHere.filter(({ change }) => change === "fired");
  const common = { scene, atMs: trouble.fromMs };
  const names = trouble.wallets ?? [null];
  if (trouble.toMs - trouble.fromMs >= shortMs) {
    for (const wallet of names) {
      judge.findings.count(scene, "expected");
      const found = begun.find(
        (item) =>
          item.rule !== "PollsFailing" &&
          item.rule !== "StreamDown" &&
          (wallet === null || item.wallet === wallet || wordsOf(item).includes(wallet)),
      );
      const text = `no data of ${wallet ?? "the exchange"}, because of ${nameOf(trouble)}`;
      if (!found)
        judge.findings.add({ ...common, wallet: wallet ?? "–", fault: "lost", text, truth: "never came" });
      else if (found.arrivedMs > trouble.fromMs + withinMs + judge.graceMs)
        judge.findings.add({
          ...common,
          wallet: wallet ?? "–",
          fault: "late",
          text: textOf(found),
          truth: `so since ${time(trouble.fromMs)}, came at ${time(found.arrivedMs)}`,
        });
    }
  }
  const alerts = new Map(begun.filter(({ rule }) => rule !== "StreamDown").map((item) => [item.alert, item]));
  const most = Math.max(maxAlerts, trouble.wallets?.length ?? 0);
  for (const item of [...alerts.values()].slice(most))
    judge.report("false", item, `one more of ${alerts.size} messages about ${nameOf(trouble)}`);
  for (const item of alerts.values()) {
    judge.findings.count(scene, "expected");
    const ended = items.find(({ alert, change }) => alert === item.alert && change === "ended");
    const byMs = Math.max(trouble.toMs, item.atMs) + recoveryMs + judge.graceMs;
    if (byMs > judge.untilMs && !ended) continue;
    if (!ended || ended.arrivedMs > byMs)
      judge.findings.add({
        scene,
        fault: ended ? "late" : "lost",
        atMs: trouble.toMs,
        wallet: item.wallet ?? "–",
        text: `recovery of ${textOf(item)}`,
        truth: `over since ${time(trouble.toMs)}; ${ended ? `came at ${time(ended.arrivedMs)}` : "never came"}`,
      });
  }
}

const nameOf = ({ kind, wallets }: Trouble): string =>
  kind === "outage"
    ? "an outage"
    : kind === "refused"
      ? `503 for ${wallets?.join(", ")}`
      : kind === "limited"
        ? "429 for everything"
        : "a daemon that is down";
