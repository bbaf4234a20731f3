/**
 * Sends the digest on its schedule: exactly once each time for each receiver, across restarts.
 *
 * The next time is stored when it is set (`keep`, "digest"): a stored time is pending. Its messages are finalized in
 * the commit that sets the next one, under ids derived from that time; then the outbox sends them. A time that passed
 * during downtime is made up for at the start, once, unless it is too old: then the next digest covers it.
 */
import { createHash } from "node:crypto";
import { type Message, type MessageContent, untried } from "../../domain/alerts/delivery.ts";
import type { Clock } from "../../domain/clock.ts";
import type { Store } from "../../domain/ports.ts";
import type { DaemonStatus } from "../../domain/status.ts";
import { changes } from "../../domain/stored/changes.ts";
import { type DeliverLog, silentLog } from "../log.ts";
import { messageId, messageIdBytes } from "../message/message-id.ts";
import { digestContent } from "./content.ts";
import { gatherDigest } from "./gather.ts";

export interface DigestOptions {
  /** Null: only on request. `name` is its expression and zone. */
  readonly schedule: { readonly name: string; next(afterMs: number): number | null } | null;
  readonly receivers: readonly string[];
  readonly timezone: string;
  readonly store: Pick<
    Store,
    "commit" | "keep" | "events" | "alerts" | "messages" | "rollups" | "ticks" | "milestones"
  >;
  readonly clock: Clock;
  readonly status: () => DaemonStatus;
  /** Takes the finalized messages. */
  readonly post: (messages: readonly Message[]) => void;
  readonly sender: string;
  readonly instance: string;
  readonly log?: DeliverLog;
}

export const digestKeep = "digest";
/** Maximum delay of a digest, ms; later ones are skipped, and the next one covers them. */
const maxLateMs = 12 * 3_600_000;
const againMs = 10_000;
const dayMs = 86_400_000;
/** Maximum timer length: longer waits are split, since clocks may be corrected in between. */
const maxWaitMs = 600_000;
/** Delay from which a digest states that it is late, ms. */
const lateMs = 60_000;
/** Maximum passed times that are examined. */
const maxPassed = 100_000;

interface Armed {
  readonly schedule: string;
  readonly dueMs: number;
  /** End of the time that the previous digest covered, ms. */
  readonly fromMs: number;
}

export class Digest {
  readonly #options: DigestOptions;
  readonly #log: DeliverLog;
  #armed: Armed | null = null;
  #cancel = (): void => {};
  #stopped = false;
  #working: Promise<void> = Promise.resolve();

  constructor(options: DigestOptions) {
    this.#options = options;
    this.#log = options.log ?? silentLog;
  }

  /** Resumes the schedule of an earlier run. Never rejects. */
  start(): Promise<void> {
    if (this.#options.schedule !== null) this.#run(() => this.#begin());
    return this.#working;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    await this.#working;
  }

  /** Returns a digest up to now. */
  async preview(): Promise<MessageContent> {
    const nowMs = this.#options.clock.nowMs();
    return this.#content(this.#armed?.fromMs ?? nowMs - dayMs, nowMs, null);
  }

  /** Sends a digest to each of these receivers now, without an effect on the schedule. @returns the message ids */
  async send(receivers: readonly string[]): Promise<string[]> {
    const { store, clock, post } = this.#options;
    const nowMs = clock.nowMs();
    const content = await this.preview();
    const each = [...new Set(receivers)];
    const messages = each.map((receiver) => this.#message(receiver, content, ["asked for", nowMs], nowMs));
    await store.commit([changes({ messages })]);
    post(messages);
    return messages.map(({ id }) => id);
  }

  async #begin(): Promise<void> {
    const { store, clock, schedule } = this.#options;
    const { name, next } = { name: schedule!.name, next: (ms: number) => schedule!.next(ms) };
    const nowMs = clock.nowMs();
    const kept = parsed((await store.keep()).get(digestKeep));
    if (kept === null) return this.#arm({ fromMs: nowMs }, nowMs);
    if (kept.dueMs > nowMs)
      return kept.schedule === name ? this.#wait(kept) : this.#arm({ fromMs: kept.fromMs }, nowMs);
    let dueMs = kept.dueMs;
    // Several times may have passed: one digest covers all of them.
    for (let count = 0; count < maxPassed; count++) {
      const later = next(Math.max(dueMs, nowMs - maxLateMs - dayMs));
      if (later === null || later > nowMs) break;
      dueMs = later;
    }
    if (nowMs - dueMs < maxLateMs) return this.#send({ ...kept, dueMs });
    this.#log.warn({ dueMs }, "a digest is too late to be sent; the next one covers its time");
    return this.#arm({ fromMs: kept.fromMs }, nowMs);
  }

  /** Sends the due digest and sets the next time, in one commit. */
  async #send({ dueMs, fromMs }: Armed): Promise<void> {
    const { clock, receivers, post } = this.#options;
    const nowMs = clock.nowMs();
    const content = await this.#content(fromMs, nowMs, nowMs - dueMs > lateMs ? dueMs : null);
    const each = [...new Set(receivers)];
    const messages = each.map((receiver) => this.#message(receiver, content, [dueMs], nowMs));
    await this.#arm({ fromMs: nowMs }, nowMs, messages);
    post(messages);
  }

  async #arm(
    { fromMs }: { fromMs: number },
    nowMs: number,
    messages: readonly Message[] = [],
  ): Promise<void> {
    const { store, schedule } = this.#options;
    const dueMs = schedule!.next(nowMs);
    const armed = dueMs === null ? null : { schedule: schedule!.name, dueMs, fromMs };
    const value = armed === null ? null : JSON.stringify(armed);
    await store.commit([changes({ messages, keep: [{ name: digestKeep, value }] })]);
    if (armed !== null) this.#wait(armed);
  }

  #wait(armed: Armed): void {
    this.#armed = armed;
    if (this.#stopped) return;
    const { clock } = this.#options;
    const leftMs = armed.dueMs - clock.nowMs();
    this.#cancel = clock.after(Math.min(Math.max(leftMs, 0), maxWaitMs), () => {
      if (clock.nowMs() < armed.dueMs) this.#wait(armed);
      else this.#run(() => this.#send(armed));
    });
  }

  /** Repeats the work until it succeeds: only the disk can fail. */
  #run(work: () => Promise<void>): void {
    this.#working = work().catch((error: unknown) => {
      if (this.#stopped) return;
      const detail = error instanceof Error ? error.message : "failed";
      this.#log.warn({ detail }, "the digest could not be made; tried again soon");
      this.#cancel = this.#options.clock.after(againMs, () => this.#run(work));
    });
  }

  async #content(fromMs: number, toMs: number, missedMs: number | null): Promise<MessageContent> {
    const { store, status, sender, timezone } = this.#options;
    const figures = await gatherDigest({ fromMs, toMs }, store, status());
    return digestContent(figures, { sender, timezone, missedMs });
  }

  #message(receiver: string, content: MessageContent, occasion: readonly unknown[], nowMs: number): Message {
    const { sender, instance } = this.#options;
    const text = JSON.stringify([sender, instance, receiver, "digest", ...occasion]);
    return {
      id: messageId(createHash("sha256").update(text).digest().subarray(0, messageIdBytes)),
      receiver,
      severity: "info",
      itemIds: [],
      alertIds: [],
      content,
      ...untried(nowMs, nowMs),
    };
  }
}

function parsed(text: string | undefined): Armed | null {
  if (text === undefined) return null;
  try {
    const { schedule, dueMs, fromMs } = JSON.parse(text) as Record<string, unknown>;
    if (typeof schedule !== "string" || typeof dueMs !== "number" || typeof fromMs !== "number") return null;
    return { schedule, dueMs, fromMs };
  } catch {
    return null;
  }
}
