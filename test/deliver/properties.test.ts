/** Random lives of a daemon: things happen, channels and disk fail and recover, the program ends and starts again. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { createAcknowledger, isHandled } from "../../src/deliver/index.ts";
import type { Alert, AlertChangeKind } from "../../src/domain/alerts/alert.ts";
import type { DeliveryItem } from "../../src/domain/alerts/delivery.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import { type Changes, changes } from "../../src/domain/stored/changes.ts";
import { type FarSide, type Rig, rig, together } from "./support.ts";

type Act =
  | {
      readonly kind: "fire";
      readonly severity: Alert["severity"];
      readonly receivers: readonly string[];
      readonly incident: boolean;
    }
  | { readonly kind: "step"; readonly which: number; readonly step: AlertChangeKind; readonly quiet: boolean }
  | { readonly kind: "event"; readonly receivers: readonly string[]; readonly group: boolean }
  | { readonly kind: "answer"; readonly side: "far" | "other"; readonly answers: readonly string[] }
  | { readonly kind: "pass"; readonly ms: number }
  | { readonly kind: "disk"; readonly full: boolean }
  | { readonly kind: "crash" };

const receivers = fc.constantFrom(["chat"], ["mail"], ["chat", "mail"], ["chat", "nowhere"]);
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("fire" as const),
      severity: fc.constantFrom("info", "warning", "critical"),
      receivers,
      incident: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("step" as const),
      which: fc.nat(50),
      step: fc.constantFrom("worsened", "reminder", "rose", "fell", "ended"),
      quiet: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("event" as const), receivers, group: fc.boolean() }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("answer" as const),
      side: fc.constantFrom("far", "other"),
      answers: fc.array(fc.constantFrom("200", "400", "401", "429", "503", "drop", "hang"), {
        minLength: 1,
        maxLength: 4,
      }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("pass" as const),
      ms: fc.constantFrom(0, 10, 900, 6_000, 70_000, 400_000),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("disk" as const), full: fc.boolean() }) },
  { weight: 2, arbitrary: fc.constant({ kind: "crash" as const }) },
);

/** A daemon around the outbox and the acknowledger: what it commits, and what it does when it cannot. */
class Life {
  readonly rig: Rig;
  readonly #random: () => number;
  readonly #live: { alert: Alert; receivers: readonly string[]; groupKey: string | null }[] = [];
  #unwritten: Changes[] = [];
  #sinceMs = 0;
  #events = 0;
  #acknowledger: ReturnType<typeof createAcknowledger> | undefined;
  crashes = 0;
  readonly asked = new Map<string, number>();
  readonly tooEarly: string[] = [];
  sick = true;

  constructor(one: Rig, seed: number) {
    this.rig = one;
    this.#random = seededRandom(seed);
  }

  async boot(): Promise<void> {
    const { store, clock, outbox } = this.rig;
    const made = createAcknowledger({
      ...{ store, clock, random: this.#random },
      acknowledge: async (_wallet, _trader, items) => {
        for (const item of items) await this.#ask(item.type === "event" ? `n${item.eventIndex}` : "");
        if (this.sick && this.#random() < 0.4) throw new Error("the answer was lost");
      },
    });
    outbox.onSettled((ids) => made.settled(ids));
    await made.start(new AbortController().signal);
    this.#acknowledger = made;
  }

  async act(one: Act): Promise<void> {
    const { alerts, clock, store } = this.rig;
    switch (one.kind) {
      case "fire": {
        const alert = alerts.alert({ severity: one.severity });
        const groupKey = one.incident ? "incident/{}/1" : null;
        this.#live.push({ alert, receivers: one.receivers, groupKey });
        return this.#take(alerts.step("fired", alert, one.receivers, groupKey));
      }
      case "step": {
        const live = this.#live[one.which % Math.max(1, this.#live.length)];
        if (!live) return;
        if (one.step === "ended") this.#live.splice(this.#live.indexOf(live), 1);
        if (one.step === "fell") live.alert = { ...live.alert, severity: "info" };
        if (one.step === "rose") live.alert = { ...live.alert, severity: "critical" };
        const { alert, receivers: to, groupKey } = live;
        if (groupKey === null || !one.quiet) return this.#take(alerts.step(one.step, alert, to, groupKey));
        const step = alerts.step(one.step, alert, to, groupKey, 5_000);
        const owed = step.deliveryItems.map((item) => ({ ...item, quiet: true as const }));
        return this.#take(changes({ ...step, deliveryItems: owed }));
      }
      case "event": {
        const alert = alerts.alert({ severity: "info", event: true, state: "ended" });
        const step = alerts.step("fired", alert, one.receivers, one.group ? "group" : null);
        return this.#take(together([step, this.#notification(alert.id)]));
      }
      case "answer":
        return answering(this.rig[one.side], one.answers);
      case "pass":
        for (let left = one.ms; left > 0; left -= 5_000) {
          await clock.advance(Math.min(left, 5_000));
          await this.#flush();
        }
        return;
      case "disk":
        store.full = one.full;
        return this.#flush();
      case "crash":
        // What was never committed would be lost, and be seen anew by the next run: that is the watch's to show.
        if (store.full) return;
        this.crashes++;
        await clock.finish(this.stop());
        await this.rig.restart();
        return this.boot();
    }
  }

  async stop(): Promise<void> {
    await this.#acknowledger?.stop();
  }

  /** Everything is well, for long enough. */
  async heal(): Promise<void> {
    this.rig.store.full = false;
    this.sick = false;
    for (const side of [this.rig.far, this.rig.other]) answering(side, ["200"]);
    await this.act({ kind: "pass", ms: 15 * 60_000 });
  }

  #notification(alertId: number): Changes {
    const index = ++this.#events;
    const item = {
      type: "event",
      slot: 1,
      slotIndex: 1,
      instructionIndex: 0,
      eventIndex: index,
      recipientIndex: 0,
    };
    return changes({
      events: [
        {
          ...{
            kind: "notification",
            key: `n${index}`,
            wallet: "main",
            pdaIndex: 0,
            subaccount: 0,
            symbol: "SOL",
          },
          ...{
            happenedMs: index,
            seenMs: 0,
            slot: 1,
            slotIndex: 1,
            eventIndex: index,
            fields: {},
            data: null,
          },
          ...{ backfilled: false, notificationKey: null },
          inbox: {
            ...{ source: "event", notificationType: "order_filled", traderPubkey: "T", acked: false },
            ...{ liquidationKey: null, item: { ...item, type: "event" } },
          },
        },
      ],
      acknowledgements: [
        {
          ...{ key: `n${index}`, wallet: "main", word: "whenDelivered", status: "waiting", reason: "" },
          ...{ rules: [{ rule: "Filled", alertIds: [alertId] }], dueAtMs: null, confirmedAtMs: null },
        },
      ],
    });
  }

  async #ask(key: string): Promise<void> {
    this.asked.set(key, (this.asked.get(key) ?? 0) + 1);
    if (!(await this.handled(key))) this.tooEarly.push(key);
  }

  async handled(key: string): Promise<boolean> {
    const { store } = this.rig;
    const [row] = await store.acknowledgements({ keys: [key] });
    if (!row) return false;
    const ids = row.rules.flatMap(({ alertIds }) => alertIds);
    const alerts = await store.alerts({ ids });
    const owed = await store.deliveryItems({ alertIds: ids });
    return isHandled(row, {
      alert: (id) => alerts.find((one) => one.id === id),
      items: (id) => owed.filter(({ alertId }) => alertId === id),
    });
  }

  async #take(one: Changes): Promise<void> {
    if (this.#unwritten.length === 0) this.#sinceMs = this.rig.clock.elapsedMs();
    this.#unwritten.push(one);
    await this.#flush();
  }

  /** Commits in order; after 5 s without success what is critical leaves from memory. */
  async #flush(): Promise<void> {
    const { store, outbox, clock } = this.rig;
    while (this.#unwritten.length > 0) {
      if (store.full) {
        if (clock.elapsedMs() - this.#sinceMs < 5_000) return;
        this.#acknowledger?.hold(true);
        for (const one of this.#unwritten) outbox.stuck(one);
        return;
      }
      const one = this.#unwritten[0]!;
      await store.commit([one]);
      this.#unwritten = this.#unwritten.slice(1);
      outbox.committed(one);
      this.#acknowledger?.committed(one);
    }
    this.#acknowledger?.hold(false);
  }
}

function answering(side: FarSide, answers: readonly string[]): void {
  let count = 0;
  side.answer = () => {
    const answer = answers[count++ % answers.length]!;
    if (answer === "drop" || answer === "hang") return answer;
    return { status: Number(answer), ...(answer === "429" ? { afterMs: 3_000 } : {}) };
  };
}

test("whatever happens, every item ends once, in order, in one message, and nothing is acknowledged before", async () => {
  const lives = fc.array(act, { minLength: 5, maxLength: 45 });
  await fc.assert(
    fc.asyncProperty(lives, fc.nat(), async (acts, seed) => {
      await using one = await rig();
      const life = new Life(one, seed);
      await life.boot();
      for (const next of acts) await life.act(next);
      await life.heal();
      await one.clock.finish(life.stop());
      await holds(one, life);
    }),
    { numRuns: 40 },
  );
}, 120_000);

async function holds(one: Rig, life: Life): Promise<void> {
  const [owed, messages] = [await one.store.deliveryItems({}), await one.store.messages({})];
  expect(owed.filter(({ status }) => status !== "delivered" && status !== "dead")).toEqual([]);
  expect(messages.filter(({ status }) => status === "sealed")).toEqual([]);

  // Items and messages are a partition: each item in the one message that it names, for its receiver, ended as it did.
  const inMessages = messages.flatMap(({ id, itemIds, receiver, status }) =>
    itemIds.map((item) => `${item} ${receiver} ${id} ${status}`),
  );
  const named = owed
    .filter(({ messageId }) => messageId !== null)
    .map(({ id, receiver, messageId, status }) => `${id} ${receiver} ${messageId} ${status}`);
  expect(inMessages.sort()).toEqual(named.sort());
  for (const { receiver, messageId, status } of owed) {
    if (messageId === null) expect([receiver, status]).toEqual(["nowhere", "dead"]);
  }

  const changesById = new Map((await one.store.alertChanges({})).map((change) => [change.id, change]));
  for (const [receiver, far] of [
    ["chat", one.far],
    ["mail", one.other],
  ] as const) {
    const byId = Map.groupBy(far.arrivals, ({ id }) => id);
    const acceptedAt = ({ messageId }: DeliveryItem) => far.accepted.findIndex(({ id }) => id === messageId);
    for (const [id, attempts] of byId) {
      expect(new Set(attempts.map(({ digest }) => digest)).size).toBe(1);
      const accepted = attempts.filter(({ answered }) => answered === 200).length;
      expect(accepted).toBeLessThanOrEqual(1 + life.crashes);
      const message = messages.find((each) => each.id === id);
      expect(accepted > 0 ? message?.status : "delivered").toBe("delivered");
    }
    for (const item of owed.filter((each) => each.receiver === receiver && each.status === "delivered")) {
      expect(acceptedAt(item)).toBeGreaterThanOrEqual(0);
      if (changesById.get(item.changeId)?.kind !== "ended") continue;
      for (const earlier of owed) {
        if (earlier.alertId !== item.alertId || earlier.receiver !== receiver || earlier.id >= item.id)
          continue;
        if (earlier.status === "delivered") expect(acceptedAt(earlier)).toBeLessThanOrEqual(acceptedAt(item));
      }
    }
  }

  expect(life.tooEarly).toEqual([]);
  for (const { key, status } of await one.store.acknowledgements({})) {
    expect([key, status]).toEqual([key, (await life.handled(key)) ? "confirmed" : "waiting"]);
    expect(life.asked.has(key)).toBe(status === "confirmed");
  }
}
