/**
 * Sessions of the page, tokens of programs, and one-time links. They are held in memory, so that a failing disk neither
 * prevents logins nor delays anything. Sessions and tokens are also stored, to survive a restart.
 *
 *   link (once, 10 min) or password ─► session (30 days after its last use)
 *   token (until it expires or is revoked)
 *
 * Secrets are looked up by SHA-256: the duration of a lookup reveals at most parts of hashes, from which a 256-bit
 * secret cannot be found.
 */
import type { AccessEntry, Rights, TokenStatus } from "../../domain/access.ts";
import type { Clock } from "../../domain/clock.ts";
import type { AccessStore } from "../../domain/ports.ts";
import type { DashboardLog } from "../log.ts";
import { hashOf, newSecret } from "./secrets.ts";

export const linkMs = 600_000;
export const sessionMs = 30 * 86_400_000;
const usedEveryMs = 60_000;
/** Above this the session that was used or created longest ago ends. */
const maxSessions = 200;
const maxLinks = 20;
export const maxTokens = 100;

/** The page only reads. */
const sessionRights: Rights = "read";

export interface AccessOptions {
  readonly store: AccessStore;
  /** The machine's clock; lifetimes do not depend on the exchange's time. */
  readonly clock: Clock;
  readonly log: DashboardLog;
}

/** A new secret. It is never stored or shown again. */
export interface Issued {
  readonly secret: string;
  /** Null: it does not expire. */
  readonly expiresMs: number | null;
}

export class Access {
  readonly #store: AccessStore;
  readonly #clock: Clock;
  readonly #log: DashboardLog;
  readonly #entries = new Map<string, AccessEntry>();
  /** Hash → end, monotonic ms. */
  readonly #links = new Map<string, number>();
  /** Revoked entries that are still in the store, by hash. */
  readonly #pendingRemovals = new Map<string, Pick<AccessEntry, "kind" | "name">>();

  constructor({ store, clock, log }: AccessOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  /** Loads stored sessions and tokens. Never rejects; without them everybody has to log in again. */
  async load(): Promise<void> {
    try {
      const entries = await this.#store.accessEntries();
      const known = entries.filter((entry) => entry !== null);
      if (known.length < entries.length)
        this.#log.warn(
          { rows: entries.length - known.length },
          "stored sessions or tokens are not as perpwatch writes them: they open nothing",
        );
      for (const entry of known.map((one) => this.#limited(one))) {
        this.#entries.set(entry.hash, entry);
        if (this.#isOver(entry)) await this.#removeQuietly(entry.hash);
      }
    } catch (error) {
      this.#log.warn(
        { error: String(error) },
        "stored sessions and tokens cannot be read: they open nothing until the next start",
      );
    }
  }

  /** Limits the rights and lifetime of a stored session to the current ones. */
  #limited(entry: AccessEntry): AccessEntry {
    if (entry.kind === "token") return entry;
    const maxMs = this.#clock.nowMs() + sessionMs;
    return { ...entry, rights: sessionRights, expiresMs: Math.min(entry.expiresMs ?? 0, maxMs) };
  }

  newLink(): Issued {
    const [oldest] = this.#links.keys();
    if (this.#links.size >= maxLinks) this.#links.delete(oldest!);
    const secret = newSecret();
    this.#links.set(hashOf(secret)!, this.#clock.elapsedMs() + linkMs);
    return { secret, expiresMs: this.#clock.nowMs() + linkMs };
  }

  /** Consumes a link. @returns true the first time, within its 10 minutes */
  takeLink(secret: string): boolean {
    const isGood = this.holdsLink(secret);
    if (isGood) this.#links.delete(hashOf(secret)!);
    return isGood;
  }

  /** Returns true if the secret is of a valid link. Does not consume it. */
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
    await this.#removeQuietly(...ended.map(({ hash }) => hash));
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

  /** Returns true if a valid session or token has this secret. Does not count as a use. */
  holds(secret: string, kind: AccessEntry["kind"]): boolean {
    return this.#valid(secret, kind) !== null;
  }

  /** @returns the session or token with this secret; null: there is none, or it has ended */
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
   * Ends a session at once, even if the store fails.
   * @throws if the store failed: the session would be valid again after a restart unless a later write succeeds
   */
  async endSession(secret: string): Promise<void> {
    const hash = hashOf(secret);
    const known = hash === null ? undefined : (this.#entries.get(hash) ?? this.#pendingRemovals.get(hash));
    if (known?.kind === "session") await this.#remove([hash!]);
  }

  /** Ends all sessions, like `endSession`. @returns their number */
  async endSessions(): Promise<number> {
    const sessions = this.#hashes(({ kind }) => kind === "session");
    await this.#remove(sessions);
    return sessions.length;
  }

  /** Oldest first. Expired tokens are included until their name is reused or the daemon restarts. */
  tokens(): readonly TokenStatus[] {
    return this.#tokens().map(({ hash: _, kind: __, ...token }) => token);
  }

  /** @returns null if a valid token has the name, or there are too many  @throws if the store failed */
  async newToken(name: string, rights: Rights, forMs: number | null): Promise<Issued | null> {
    // A revoked token of this name could otherwise return beside it.
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
      // A token that a restart would lose must not be issued.
      this.#entries.delete(entry.hash);
      throw error;
    }
    if (namesake) await this.#removeQuietly(namesake.hash);
    return { secret, expiresMs: entry.expiresMs };
  }

  /**
   * Revokes a token at once, even if the store fails.
   * @returns false: there is no token of that name
   * @throws if the store failed: the token would be valid again after a restart
   */
  async revokeToken(name: string): Promise<boolean> {
    const hashes = this.#hashes((one) => one.kind === "token" && one.name === name);
    await this.#remove(hashes);
    return hashes.length > 0;
  }

  /** Includes entries whose removal from the store is pending. */
  #hashes(matches: (entry: Pick<AccessEntry, "kind" | "name">) => boolean): readonly string[] {
    return [...this.#entries, ...this.#pendingRemovals]
      .filter(([, entry]) => matches(entry))
      .map(([hash]) => hash);
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
    await this.#removeQuietly();
  }

  /** Removes ended entries, and those whose removal is pending. Never rejects. */
  async #removeQuietly(...hashes: readonly string[]): Promise<void> {
    await this.#remove(hashes).catch((error: unknown) =>
      this.#log.warn(
        { error: String(error) },
        "a session or token that has ended could not be removed from the database; it is tried again with the next login",
      ),
    );
  }

  /** Removes entries at once, and from the store, with those whose removal is pending. @throws if the store fails */
  async #remove(hashes: readonly string[]): Promise<void> {
    for (const hash of hashes) {
      const entry = this.#entries.get(hash);
      if (entry !== undefined) this.#pendingRemovals.set(hash, { kind: entry.kind, name: entry.name });
      this.#entries.delete(hash);
    }
    for (const hash of [...this.#pendingRemovals.keys()]) {
      await this.#store.removeAccess(hash);
      this.#pendingRemovals.delete(hash);
    }
  }
}

function lastMs({ usedMs, createdMs }: AccessEntry): number {
  return usedMs ?? createdMs;
}
