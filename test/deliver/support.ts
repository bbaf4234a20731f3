/** The shared parts of delivery tests: alerts as the watch makes them, a far side over real HTTP, an outbox on real SQLite. */
import { createHash } from "node:crypto";
import fs from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import os from "node:os";
import path from "node:path";
import type { Channel, Late, Outgoing, SendResult } from "../../src/channels/channel.ts";
import { createOutbox, type Outbox, type OutboxOptions } from "../../src/deliver/index.ts";
import type { Alert, AlertChange, AlertChangeKind } from "../../src/domain/alerts/alert.ts";
import type { DeliveryItem } from "../../src/domain/alerts/delivery.ts";
import { type Clock, seededRandom } from "../../src/domain/clock.ts";
import type { Observation } from "../../src/domain/observation.ts";
import { CommitFailed, type Store } from "../../src/domain/ports.ts";
import { type Changes, changes } from "../../src/domain/stored/changes.ts";
import { type History, openStore } from "../../src/history/index.ts";
import { FakeClock } from "../support/clock.ts";

/** A folder of its own for one test, removed with `using`. */
export function temporaryFolder(): Disposable & { readonly file: string } {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "perpwatch-deliver-"));
  return {
    file: path.join(folder, "perpwatch.db"),
    [Symbol.dispose]: () => fs.rmSync(folder, { recursive: true, force: true }),
  };
}

/** Makes alerts and what is owed for them, with ids that grow as the watch's do. */
export class Alerts {
  readonly #clock: Clock;
  #alert = 0;
  #change = 0;
  #owed = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  alert(parts: Partial<Alert> = {}): Alert {
    const nowMs = this.#clock.nowMs();
    const id = ++this.#alert;
    return {
      ...{ id, rule: "LiquidationNear", subject: "main/0.0/SOL", wallet: "main", symbol: "SOL", labels: {} },
      ...{ severity: "critical", state: "firing", event: false, sinceMs: nowMs, firedAtMs: nowMs },
      ...{ endedAtMs: null, ending: null, alreadySo: false, summary: `alert ${id}`, description: "" },
      ...{ runbook: null, value: 0.04, dataAtMs: nowMs, acknowledgedBy: null, acknowledgedAtMs: null },
      eventKey: null,
      ...parts,
    };
  }

  /** One step of an alert, owed to these receivers. */
  step(
    kind: AlertChangeKind,
    alert: Alert,
    receivers: readonly string[] = ["chat"],
    groupKey: string | null = null,
    waitMs?: number,
  ): Changes {
    const nowMs = this.#clock.nowMs();
    const after: Alert =
      kind === "ended"
        ? { ...alert, state: "ended", ending: alert.ending ?? "recovered", endedAtMs: nowMs }
        : alert;
    const change: AlertChange = {
      ...{ id: ++this.#change, alertId: alert.id, kind, atMs: nowMs, alert: after, details: [] },
      happenedMs: null,
    };
    const owed = receivers.map(
      (receiver): DeliveryItem => ({
        ...{ id: ++this.#owed, changeId: change.id, alertId: alert.id, receiver, severity: alert.severity },
        ...{ owedAtMs: nowMs, groupKey, status: "owed", messageId: null },
        ...(waitMs === undefined ? {} : { releaseAtMs: nowMs + waitMs }),
      }),
    );
    return changes({ alerts: [after], alertChanges: [change], deliveryItems: owed });
  }
}

export function together(all: readonly Changes[]): Changes {
  return changes({
    alerts: all.flatMap(({ alerts }) => alerts),
    alertChanges: all.flatMap(({ alertChanges }) => alertChanges),
    deliveryItems: all.flatMap(({ deliveryItems: owed }) => owed),
    acknowledgements: all.flatMap(({ acknowledgements }) => acknowledgements),
    events: all.flatMap(({ events }) => events),
  });
}

export interface Arrival {
  readonly id: string;
  readonly attempt: number;
  readonly replyTo: string | null;
  readonly late: Late | null;
  readonly items: readonly number[];
  readonly title: string;
  readonly leads: readonly string[];
  readonly quiet: boolean;
  /** The digest of the content as it arrived. */
  readonly digest: string;
  readonly atMs: number;
  readonly answered: number | "hang" | "drop";
}

type Answer = { readonly status: number; readonly afterMs?: number } | "hang" | "drop";

/** The far side of a channel: an HTTP server that keeps every attempt, and is unwell on demand. */
export class FarSide implements AsyncDisposable {
  readonly arrivals: Arrival[] = [];
  /** Decides the answer to an attempt; default 200. */
  answer: (arrival: Omit<Arrival, "answered">) => Answer = () => ({ status: 200 });
  readonly #server = createServer();
  readonly #held = new Set<ServerResponse>();
  url = "";

  static async start(clock: FakeClock): Promise<FarSide> {
    const far = new FarSide();
    clock.allow(() => far.#held.size);
    far.#server.on("request", (request, response) => {
      let text = "";
      request.on("data", (chunk: Buffer) => {
        text += chunk.toString();
      });
      request.on("end", () => {
        const { message, ...rest } = JSON.parse(text) as {
          message: string;
          attempt: number;
          replyTo: string | null;
          late: Late | null;
        };
        const parsed = JSON.parse(message) as {
          id: string;
          itemIds: number[];
          content: { title: string; items: { lead: string }[]; quiet?: true };
        };
        const seen = {
          ...rest,
          ...{ id: parsed.id, items: parsed.itemIds, title: parsed.content.title, atMs: clock.nowMs() },
          leads: parsed.content.items.map(({ lead }) => lead),
          quiet: parsed.content.quiet === true,
          digest: createHash("sha256").update(JSON.stringify(parsed.content)).digest("hex"),
        };
        const answer = far.answer(seen);
        far.arrivals.push({ ...seen, answered: typeof answer === "string" ? answer : answer.status });
        if (answer === "drop") response.destroy();
        else if (answer === "hang") {
          far.#held.add(response);
          response.on("close", () => far.#held.delete(response));
        } else {
          const wait = answer.afterMs === undefined ? {} : { "retry-after": String(answer.afterMs / 1_000) };
          response.writeHead(answer.status, wait).end(`receipt of ${parsed.id}`);
        }
      });
    });
    await new Promise<void>((resolve) => far.#server.listen(0, "127.0.0.1", resolve));
    far.url = `http://127.0.0.1:${(far.#server.address() as AddressInfo).port}/`;
    return far;
  }

  get accepted(): readonly Arrival[] {
    return this.arrivals.filter(({ answered }) => answered === 200);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** A channel as those of src/channels are, over HTTP to a far side. */
export function httpChannel(name: string, far: FarSide, deadlineMs = 5_000): Channel {
  const look = async () => ({ kind: "ok", detail: "ready" }) as const;
  return {
    ...{ name, kind: "http", deadlineMs, start: look, probe: look },
    stop: async () => {},
    async send({ message, attempt, inReplyTo, late }: Outgoing, signal: AbortSignal): Promise<SendResult> {
      const body = JSON.stringify({
        message: JSON.stringify(message),
        attempt,
        late: late ?? null,
        replyTo: inReplyTo?.receipt ?? null,
      });
      let response: Response;
      try {
        response = await fetch(far.url, { method: "POST", body, signal, headers: { connection: "close" } });
      } catch {
        signal.throwIfAborted();
        return { kind: "retry", failure: "unreachable", detail: "connection lost", afterMs: null };
      }
      const text = await response.text();
      const detail = `status ${response.status}`;
      if (response.ok) return { kind: "delivered", receipt: text };
      const wait = response.headers.get("retry-after");
      const afterMs = wait === null ? null : Number(wait) * 1_000;
      if (response.status === 429) return { kind: "retry", failure: "rate-limited", detail, afterMs };
      if (response.status >= 500) return { kind: "retry", failure: "server-error", detail, afterMs };
      const channelBroken = response.status === 401;
      return {
        kind: "refused",
        failure: channelBroken ? "authentication" : "rejected",
        detail,
        channelBroken,
      };
    },
  };
}

/** A store whose disk can be full. */
export function fillable(store: History): Store & { full: boolean } {
  return Object.assign(Object.create(store) as History, {
    full: false,
    async commit(this: { full: boolean }, batch: readonly Changes[]): Promise<void> {
      if (this.full) throw new CommitFailed("full", "the disk is full");
      await store.commit(batch);
    },
    owed: store.deliveryItems.bind(store),
    messages: store.messages.bind(store),
    alerts: store.alerts.bind(store),
    alertChanges: store.alertChanges.bind(store),
    acknowledgements: store.acknowledgements.bind(store),
    eventByKey: store.eventByKey.bind(store),
    events: store.events.bind(store),
    keep: store.keep.bind(store),
    rollups: store.rollups.bind(store),
    ticks: store.ticks.bind(store),
    milestones: store.milestones.bind(store),
  });
}

export interface Rig extends AsyncDisposable {
  readonly clock: FakeClock;
  readonly far: FarSide;
  readonly other: FarSide;
  readonly store: Store & { full: boolean };
  readonly alerts: Alerts;
  readonly observed: (Observation & { readonly kind: "channel" })[];
  readonly dropped: (Observation & { readonly kind: "dropped" })[];
  readonly logged: string[];
  outbox: Outbox;
  /** Commits changes and tells the outbox, as the daemon does. */
  owe(...changes: readonly Changes[]): Promise<void>;
  /** Ends the outbox at once, as a crash does, and starts another one on the same database. */
  restart(options?: Partial<OutboxOptions>): Promise<void>;
}

/** Channels `chat` and `mail` to two far sides. */
export async function rig(options: Partial<OutboxOptions> & { clock?: FakeClock } = {}): Promise<Rig> {
  const clock = options.clock ?? new FakeClock("2026-11-21T03:41:18Z");
  const folder = temporaryFolder();
  const history = openStore({ path: folder.file, clock });
  const store = fillable(history);
  const [far, other] = [await FarSide.start(clock), await FarSide.start(clock)];
  const observed: (Observation & { readonly kind: "channel" })[] = [];
  const dropped: (Observation & { readonly kind: "dropped" })[] = [];
  const logged: string[] = [];
  let runs = 0;
  const line = (fields: object, text: string) => void logged.push(`${text} ${JSON.stringify(fields)}`);
  const boot = (more: Partial<OutboxOptions> = {}) => {
    const run = ++runs;
    return createOutbox({
      // What a run that ended still does is not seen by the next one.
      store: Object.assign(Object.create(store) as typeof store, {
        commit: (batch: readonly Changes[]) =>
          run === runs ? store.commit(batch) : Promise.reject(new CommitFailed("io", "this run is over")),
      }),
      channels: new Map([
        ["chat", httpChannel("chat", far)],
        ["mail", httpChannel("mail", other)],
      ]),
      ...{ clock, random: seededRandom(run), sender: "perpwatch on test", instance: "/one.db" },
      observe: (one) => void (one.kind === "channel" ? observed.push(one) : dropped.push(one)),
      log: { debug: () => {}, info: line, warn: line },
      ...options,
      ...more,
    });
  };
  const self: Rig = {
    ...{ clock, far, other, store, observed, dropped, logged, alerts: new Alerts(clock), outbox: boot() },
    async owe(...all) {
      await store.commit(all);
      for (const one of all) self.outbox.committed(one);
    },
    async restart(more) {
      const before = self.outbox;
      self.outbox = boot(more);
      await clock.finish(before.stop());
      await self.outbox.start(new AbortController().signal);
    },
    async [Symbol.asyncDispose]() {
      await clock.finish(self.outbox.stop());
      await far[Symbol.asyncDispose]();
      await other[Symbol.asyncDispose]();
      await history.close();
      folder[Symbol.dispose]();
    },
  };
  await self.outbox.start(new AbortController().signal);
  return self;
}
