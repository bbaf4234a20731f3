/**
 * Sessions of the page, tokens of programs, and one-time links. Held in memory, so that a disk that fails keeps nobody out and
 * holds up nothing; what outlives a restart is written to the store as well.
 *
 *   link (once, 10 min) or password ─► session (30 days after its last use)        token (until it expires or is revoked)
 *
 * Secrets are looked up by their SHA-256: the time of a lookup tells of hashes at most, and no secret of 256 bits can be worked
 * out from those.
 */
import type { AccessEntry, Rights, TokenStatus } from "../../domain/access.ts";
import type { Clock } from "../../domain/clock.ts";
import type { AccessStore } from "../../domain/ports.ts";
import type { DashboardLog } from "../log.ts";
import { hashOf, newSecret } from "./secrets.ts";

export const linkMs = 600_000;
export const sessionMs = 30 * 86_400_000;
const usedEveryMs = 60_000;
/** With one more, the one that was used or made longest ago goes. */
const maxSessions = 200;
const maxLinks = 20;
export const maxTokens = 100;

/** The page shows and changes nothing. */
const sessionRights: Rights = "read";

export interface AccessOptions {
  readonly store: AccessStore;
  /** The machine's own: lifetimes are not a matter of the exchange's time. */
  readonly clock: Clock;
  readonly log: DashboardLog;
}

/** The secret is in here alone; it is never stored or shown again. */
export interface Issued {
  readonly secret: string;
  /** Null: never. */
  readonly expiresMs: number | null;
}

export class Access {
  readonly #store: AccessStore;
  readonly #clock: Clock;
  readonly #log: DashboardLog;
  readonly #entries = new Map<string, AccessEntry>();
  /** Hash → when it ends, on the monotonic clock. */
  readonly #links = new Map<string, number>();
  /** Name → hash of tokens that were revoked and still stand in the store. */
  readonly #revoked = new Map<string, string>();

  constructor({ store, clock, log }: AccessOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  /** Takes up what an earlier run stored. Never rejects: without it everybody logs in anew. */
  async load(): Promise<void> {
    try {
      for (const entry of await this.#store.accessEntries()) {
        if (this.#isOver(entry)) await this.#forget(entry.hash);
        else this.#entries.set(entry.hash, entry);
      }
    } catch (error) {
      this.#log.warn(
        { error: String(error) },
        "stored sessions and tokens cannot be read: they open nothing until the next start",
      );
    }
  }

  newLink(): Issued {
    const [oldest] = this.#links.keys();
    if (this.#links.size >= maxLinks) this.#links.delete(oldest!);
    const secret = newSecret();
    this.#links.set(hashOf(secret)!, this.#clock.elapsedMs() + linkMs);
    return { secret, expiresMs: this.#clock.nowMs() + linkMs };
  }

  /** Uses a link up. @returns true the first time, within its 10 minutes */
  takeLink(secret: string): boolean {
    const hash = hashOf(secret);
    if (hash === null) return false;
    const endsMs = this.#links.get(hash);
    this.#links.delete(hash);
    return endsMs !== undefined && this.#clock.elapsedMs() < endsMs;
  }

  async newSession(by: "link" | "password"): Promise<Issued> {
    const sessions = [...this.#entries.values()].filter(({ kind }) => kind === "session");
    const ended = sessions.filter((one) => this.#isOver(one));
    if (sessions.length - ended.length >= maxSessions)
      ended.push(sessions.toSorted((a, b) => lastMs(a) - lastMs(b))[0]!);
    for (const { hash } of ended) await this.#forget(hash);
    const nowMs = this.#clock.nowMs();
    const secret = newSecret();
    const entry: AccessEntry = {
      ...{ hash: hashOf(secret)!, kind: "session", name: by, rights: sessionRights },
      ...{ createdMs: nowMs, expiresMs: nowMs + sessionMs, usedMs: nowMs },
    };
    this.#entries.set(entry.hash, entry);
    await this.#keep(entry);
    return { secret, expiresMs: entry.expiresMs };
  }

  /** @returns the session or token with this secret; null: there is none, or it is over */
  find(secret: string, kind: AccessEntry["kind"]): AccessEntry | null {
    const hash = hashOf(secret);
    const entry = hash === null ? undefined : this.#entries.get(hash);
    if (entry === undefined || entry.kind !== kind || this.#isOver(entry)) return null;
    const nowMs = this.#clock.nowMs();
    if (entry.usedMs !== null && Math.abs(nowMs - entry.usedMs) < usedEveryMs) return entry;
    const used = {
      ...entry,
      usedMs: nowMs,
      expiresMs: kind === "session" ? nowMs + sessionMs : entry.expiresMs,
    };
    this.#entries.set(entry.hash, used);
    void this.#keep(used);
    return used;
  }

  async endSession(secret: string): Promise<void> {
    const hash = hashOf(secret);
    if (hash === null || this.#entries.get(hash)?.kind !== "session") return;
    await this.#forget(hash);
  }

  /** @returns how many were ended */
  async endSessions(): Promise<number> {
    const sessions = [...this.#entries.values()].filter(({ kind }) => kind === "session");
    for (const { hash } of sessions) await this.#forget(hash);
    return sessions.length;
  }

  /** Oldest first; those that are over are in it until another takes their name. */
  tokens(): readonly TokenStatus[] {
    return this.#tokens().map(({ hash: _, kind: __, ...token }) => token);
  }

  /** @returns null where a token of that name is valid already, or there are too many  @throws when the store did not take it */
  async newToken(name: string, rights: Rights, forMs: number | null): Promise<Issued | null> {
    const before = this.#tokens();
    const namesake = before.find((one) => one.name === name);
    if (namesake ? !this.#isOver(namesake) : before.length >= maxTokens) return null;
    const nowMs = this.#clock.nowMs();
    const secret = newSecret();
    const entry: AccessEntry = {
      ...{ hash: hashOf(secret)!, kind: "token", name, rights },
      ...{ createdMs: nowMs, expiresMs: forMs === null ? null : nowMs + forMs, usedMs: null },
    };
    this.#entries.set(entry.hash, entry);
    try {
      await this.#store.saveAccess(entry);
    } catch (error) {
      // One that a restart forgets would be a surprise much later.
      this.#entries.delete(entry.hash);
      throw error;
    }
    if (namesake) await this.#forget(namesake.hash);
    return { secret, expiresMs: entry.expiresMs };
  }

  /**
   * The token opens nothing from here on, whatever becomes of the store.
   * @returns false: there is none of that name
   * @throws when the store did not take it: it would be valid again after a restart
   */
  async revokeToken(name: string): Promise<boolean> {
    const found = this.#tokens().find((one) => one.name === name);
    const hash = found?.hash ?? this.#revoked.get(name);
    if (hash === undefined) return false;
    this.#entries.delete(hash);
    this.#revoked.set(name, hash);
    await this.#store.removeAccess(hash);
    this.#revoked.delete(name);
    return true;
  }

  #tokens(): readonly AccessEntry[] {
    return [...this.#entries.values()].filter(({ kind }) => kind === "token");
  }

  #isOver({ expiresMs }: AccessEntry): boolean {
    return expiresMs !== null && this.#clock.nowMs() >= expiresMs;
  }

  async #keep(entry: AccessEntry): Promise<void> {
    await this.#store.saveAccess(entry).catch((error: unknown) => this.#unstored(error));
  }

  async #forget(hash: string): Promise<void> {
    this.#entries.delete(hash);
    await this.#store.removeAccess(hash).catch((error: unknown) => this.#unstored(error));
  }

  #unstored(error: unknown): void {
    this.#log.warn(
      { error: String(error) },
      "a session of the page could not be stored; it goes on until a restart",
    );
  }
}

function lastMs({ usedMs, createdMs }: AccessEntry): number {
  return usedMs ?? createdMs;
}
