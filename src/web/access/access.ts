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
  /** By hash: open nothing any more, and still stand in the store. */
  readonly #unremoved = new Map<string, Pick<AccessEntry, "kind" | "name">>();

  constructor({ store, clock, log }: AccessOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  /** Takes up what an earlier run stored. Never rejects: without it everybody logs in anew. */
  async load(): Promise<void> {
    try {
      const entries = await this.#store.accessEntries();
      const known = entries.filter((entry) => entry !== null);
      if (known.length < entries.length)
        this.#log.warn(
          { rows: entries.length - known.length },
          "stored sessions or tokens are not as perpwatch writes them: they open nothing",
        );
      for (const entry of known.map((one) => this.#bounded(one))) {
        this.#entries.set(entry.hash, entry);
        if (this.#isOver(entry)) await this.#forget(entry.hash);
      }
    } catch (error) {
      this.#log.warn(
        { error: String(error) },
        "stored sessions and tokens cannot be read: they open nothing until the next start",
      );
    }
  }

  /** Sessions have their rights and their longest time from here, whatever is stored. */
  #bounded(entry: AccessEntry): AccessEntry {
    if (entry.kind === "token") return entry;
    const mostMs = this.#clock.nowMs() + sessionMs;
    return { ...entry, rights: sessionRights, expiresMs: Math.min(entry.expiresMs ?? 0, mostMs) };
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
    const isGood = this.holdsLink(secret);
    if (isGood) this.#links.delete(hashOf(secret)!);
    return isGood;
  }

  /** Returns true if a link with this secret logs in now. Does not use it up. */
  holdsLink(secret: string): boolean {
    const hash = hashOf(secret);
    const endsMs = hash === null ? undefined : this.#links.get(hash);
    return endsMs !== undefined && this.#clock.elapsedMs() < endsMs;
  }

  async newSession(by: "link" | "password"): Promise<Issued> {
    const sessions = [...this.#entries.values()].filter(({ kind }) => kind === "session");
    const ended = sessions.filter((one) => this.#isOver(one));
    if (sessions.length - ended.length >= maxSessions)
      ended.push(sessions.toSorted((a, b) => lastMs(a) - lastMs(b))[0]!);
    await this.#forget(...ended.map(({ hash }) => hash));
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

  /** Returns true if a session or token has this secret and is not over. Does not count as its use. */
  holds(secret: string, kind: AccessEntry["kind"]): boolean {
    return this.#valid(secret, kind) !== null;
  }

  /** @returns the session or token with this secret; null: there is none, or it is over */
  find(secret: string, kind: AccessEntry["kind"]): AccessEntry | null {
    const entry = this.#valid(secret, kind);
    if (entry === null) return null;
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

  #valid(secret: string, kind: AccessEntry["kind"]): AccessEntry | null {
    const hash = hashOf(secret);
    const entry = hash === null ? undefined : this.#entries.get(hash);
    return entry === undefined || entry.kind !== kind || this.#isOver(entry) ? null : entry;
  }

  /**
   * The session opens nothing from here on, whatever becomes of the store.
   * @throws when the store did not take it: it would be valid again after a restart, unless a later write succeeds
   */
  async endSession(secret: string): Promise<void> {
    const hash = hashOf(secret);
    const known = hash === null ? undefined : (this.#entries.get(hash) ?? this.#unremoved.get(hash));
    if (known?.kind === "session") await this.#remove([hash!]);
  }

  /** As `endSession`, of all. @returns how many were ended */
  async endSessions(): Promise<number> {
    const sessions = this.#hashes(({ kind }) => kind === "session");
    await this.#remove(sessions);
    return sessions.length;
  }

  /** Oldest first; those that are over are in it until another takes their name, or a restart. */
  tokens(): readonly TokenStatus[] {
    return this.#tokens().map(({ hash: _, kind: __, ...token }) => token);
  }

  /** @returns null where a token of that name is valid already, or there are too many  @throws when the store did not take it */
  async newToken(name: string, rights: Rights, forMs: number | null): Promise<Issued | null> {
    // One of this name that was revoked would come back beside it.
    await this.#remove([]);
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
    const hashes = this.#hashes((one) => one.kind === "token" && one.name === name);
    await this.#remove(hashes);
    return hashes.length > 0;
  }

  /** Those that the store still has included. */
  #hashes(isMeant: (entry: Pick<AccessEntry, "kind" | "name">) => boolean): readonly string[] {
    return [...this.#entries, ...this.#unremoved].filter(([, entry]) => isMeant(entry)).map(([hash]) => hash);
  }

  #tokens(): readonly AccessEntry[] {
    return [...this.#entries.values()].filter(({ kind }) => kind === "token");
  }

  #isOver({ expiresMs }: AccessEntry): boolean {
    return expiresMs !== null && this.#clock.nowMs() >= expiresMs;
  }

  async #keep(entry: AccessEntry): Promise<void> {
    try {
      await this.#store.saveAccess(entry);
    } catch (error) {
      this.#log.warn(
        { error: String(error) },
        entry.kind === "session"
          ? "a session of the page could not be stored; it goes on until a restart"
          : "the last use of a token could not be stored; the token goes on",
      );
      return;
    }
    await this.#forget();
  }

  /** Removes what is over anyway, and what was to be removed before. Never rejects. */
  async #forget(...hashes: readonly string[]): Promise<void> {
    await this.#remove(hashes).catch((error: unknown) =>
      this.#log.warn(
        { error: String(error) },
        "a session or token that has ended could not be removed from the database; it is tried again with the next login",
      ),
    );
  }

  /** They open nothing from here on. Removes from the store what was to be removed before, too. @throws when it does not take it */
  async #remove(hashes: readonly string[]): Promise<void> {
    for (const hash of hashes) {
      const entry = this.#entries.get(hash);
      if (entry !== undefined) this.#unremoved.set(hash, { kind: entry.kind, name: entry.name });
      this.#entries.delete(hash);
    }
    for (const hash of [...this.#unremoved.keys()]) {
      await this.#store.removeAccess(hash);
      this.#unremoved.delete(hash);
    }
  }
}

function lastMs({ usedMs, createdMs }: AccessEntry): number {
  return usedMs ?? createdMs;
}
