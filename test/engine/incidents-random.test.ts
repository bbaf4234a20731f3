/** Incidents in random hours of markets, silences, acknowledgements, starts and reloads: what has to call calls, and nothing is lost. */
import { describe, expect, test } from "vitest";
import { seededRandom } from "../../src/domain/clock.ts";
import type { ReplayedMessage } from "../../src/replay/delivery.ts";
import { accountOf, Crash, minute, second } from "./crash.ts";

const intervalMs = 5 * minute;
/** An account that is critical is in a notifying message by then, ms. */
const calledMs = 6 * second;
/** A reminder waits for so long where its condition does not hold or is not judged since a start, ms. */
const waitsMs = 25 * second;

const readers = ["chat", "mail"] as const;
const routings: readonly object[] = [
  { receivers: readers, incidentBy: [] },
  { receivers: [...readers, "hook"] },
  { receivers: readers, incidentBy: ["wallet"] },
  { receivers: readers, incidentBy: [], routes: [{ match: { wallet: "mm-2" }, incidentBy: "never" }] },
  {
    receivers: readers,
    routes: [
      { match: { severity: "critical" }, receivers: ["chat"], continue: true },
      { match: { wallet: { matches: "mm-.*" } }, receivers: readers },
    ],
  },
];

const calls = ({ kind, alert }: ReplayedMessage["covers"][number]) =>
  alert.severity === "critical" && alert.state === "firing" && kind !== "acknowledged" && kind !== "fell";
const accountsOf = ({ covers }: ReplayedMessage) =>
  new Set(covers.filter(calls).map(({ alert }) => accountOf(alert.subject)));

/** One hour, and what stood in each of its seconds. */
class Hour {
  readonly crash: Crash;
  readonly random: () => number;
  /** The accounts that are critical, and were when nothing held that. */
  readonly #called = new Set<string>();
  /** Since when something critical has been unacknowledged, for whom nothing holds it. */
  #openMs: number | null = null;
  readonly due: { readonly account: string; readonly fromMs: number; untilMs: number | null }[] = [];
  readonly open: { readonly fromMs: number; readonly untilMs: number }[] = [];
  readonly #silences: { readonly wallet: string; readonly endsMs: number }[] = [];
  readonly log: string[] = [];

  constructor(seed: number, routing: object) {
    this.random = seededRandom(seed);
    const accounts = Array.from({ length: 5 }, (_, i) => ({ collateral: 205 + 8 * i, sizes: [10, 2, 0] }));
    this.crash = new Crash(accounts, { routing });
  }

  pass(ms: number): void {
    const untilMs = this.crash.harness.nowMs + ms;
    while (this.crash.harness.nowMs < untilMs) {
      this.crash.pass(Math.min(second, untilMs - this.crash.harness.nowMs));
      this.#sample();
    }
  }

  #sample(): void {
    const { nowMs } = this.crash.harness;
    const held = (wallet: string | null) =>
      this.#silences.some((one) => one.wallet === wallet && one.endsMs > nowMs);
    const all = this.crash.firing.filter(
      ({ alert }) => alert.rule === "Near" && alert.severity === "critical",
    );
    const critical = all.filter(({ alert }) => !held(alert.wallet));
    const accounts = new Set(all.map(({ alert }) => accountOf(alert.subject)));
    const now = new Set(critical.map(({ alert }) => accountOf(alert.subject)));
    for (const account of now) {
      if (this.#called.has(account)) continue;
      this.#called.add(account);
      // An alert that somebody took over during a silence needs no word at its end.
      const isOpen = critical.some(
        ({ alert }) => accountOf(alert.subject) === account && alert.acknowledgedAtMs === null,
      );
      if (isOpen) this.due.push({ account, fromMs: nowMs, untilMs: null });
    }
    for (const one of this.due) if (!now.has(one.account)) one.untilMs ??= nowMs;
    for (const account of this.#called) if (!accounts.has(account)) this.#called.delete(account);
    const isOpen = critical.some(({ alert }) => alert.acknowledgedAtMs === null);
    if (isOpen) this.#openMs ??= nowMs;
    else if (this.#openMs !== null) {
      this.open.push({ fromMs: this.#openMs, untilMs: nowMs });
      this.#openMs = null;
    }
  }

  step(): void {
    const { crash, random } = this;
    const wallet = `mm-${1 + Math.floor(random() * 5)}`;
    const roll = random();
    const at = ((crash.harness.nowMs % (24 * 60 * minute)) / second).toFixed(0);
    const log = (text: string) => void this.log.push(`${at} ${text}`);
    if (roll < 0.5) {
      const marks = { SOL: 80 + 14 * random(), BTC: 90 + 10 * random() };
      log(`marks ${JSON.stringify(marks)}`);
      crash.look(marks);
    } else if (roll < 0.6) {
      const ms = Math.floor(random() * 8) * minute + 30 * second;
      const upTo = random() < 0.5 ? "critical" : "warning";
      log(`silence ${wallet} ${ms / second} s up to ${upTo}`);
      if (upTo === "critical") this.#silences.push({ wallet, endsMs: crash.harness.nowMs + ms });
      crash.silence(wallet, ms, upTo);
    } else if (roll < 0.7) {
      log(`acknowledge ${wallet}`);
      crash.acknowledge(wallet);
    } else if (roll < 0.75) {
      log("acknowledge all");
      crash.acknowledge();
    } else if (roll < 0.8) {
      log("restart");
      crash.restart();
    } else if (roll < 0.85) {
      const routing = routings[Math.floor(random() * routings.length)]!;
      log(`reload ${JSON.stringify(routing)}`);
      crash.reload({ routing });
    } else if (roll < 0.93) {
      const sizes = random() < 0.4 ? [0, 0, 0] : [4 + 6 * random(), 4 * random(), 0];
      log(`${wallet} holds ${JSON.stringify(sizes)}`);
      crash.set(wallet, { sizes });
    } else {
      const collateral = 190 + 60 * random();
      log(`${wallet} has ${collateral}`);
      crash.set(wallet, { collateral });
    }
    this.#sample();
    const long = random() < 0.15;
    this.pass(Math.floor((long ? 400 : 40) * random()) * second);
  }
}

describe("an hour of everything", () => {
  const seeds =
    process.env.SEED === undefined
      ? Array.from({ length: Number(process.env.SEEDS ?? 6) }, (_, i) => i + 1)
      : [Number(process.env.SEED)];
  test.each(seeds)("calls for each account in time, reminds, and loses nothing; SEED=%d", (seed) => {
    const hour = new Hour(seed, routings[seed % routings.length]!);
    const { crash } = hour;
    hour.pass(10 * second);
    while (hour.crash.harness.nowMs < Date.UTC(2026, 0, 5, 13)) hour.step();
    // Silences end, recoveries are told, reminders go on.
    hour.pass(45 * minute);
    const said = `after\n${hour.log.join("\n")}\n`;
    for (const receiver of readers) {
      const loud = crash.notifying(receiver);
      for (const { account, fromMs, untilMs } of hour.due) {
        if (untilMs !== null && untilMs - fromMs <= calledMs) continue;
        const found = loud.find((one) => one.atMs > fromMs - second && accountsOf(one).has(account));
        expect(
          (found?.atMs ?? Number.POSITIVE_INFINITY) - fromMs,
          `${account} from ${(fromMs % 86_400_000) / second} s to ${receiver} ${said}`,
        ).toBeLessThanOrEqual(calledMs);
      }
      const told = crash.of(receiver).flatMap(({ covers }) => covers.map(({ id }) => id));
      expect(new Set(told).size, said).toBe(told.length);
      // Something critical that nobody took over is never unsaid for longer than the interval.
      for (const { fromMs, untilMs } of hour.open) {
        const times = loud.flatMap((one) => (accountsOf(one).size > 0 ? [one.atMs] : []));
        let lastMs = fromMs;
        for (const atMs of [...times.filter((one) => one > fromMs && one < untilMs), untilMs]) {
          expect(
            atMs - lastMs,
            `reminders to ${receiver} after ${(lastMs % 86_400_000) / second} s ${said}`,
          ).toBeLessThanOrEqual(intervalMs + waitsMs);
          lastMs = atMs;
        }
      }
      // Each alert stands as its receiver was told last.
      const last = new Map<number, string>();
      for (const { covers } of crash.of(receiver))
        for (const { alertId, alert } of covers) last.set(alertId, `${alert.state} ${alert.severity}`);
      const newest = new Map(crash.changes.map((change) => [change.alertId, change.alert]));
      for (const [id, text] of last)
        expect(text, `alert ${id} ${newest.get(id)!.subject} for ${receiver} ${said}`).toBe(
          `${newest.get(id)!.state} ${newest.get(id)!.severity}`,
        );
    }
  });
});
