/** The sessions of all wallets that have a key. Watch-only wallets have none. */
import { WalletSession } from "./session.ts";
import type { SessionFigures, SessionParts, SessionWallet } from "./session-parts.ts";

/** Time within which all sign in after an outage, ms; longer only if the request budget requires it. */
const SPREAD_MS = 1_000;
/** A challenge and its answer. */
const SIGN_IN_REQUESTS = 2;

export type SessionsOptions = Omit<SessionParts, "figures"> & { readonly wallets: readonly SessionWallet[] };

export interface Sessions {
  /** Loads stored sessions, signs in the others, and maintains all. Does not wait for the exchange. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Returns the session of a wallet by its configured name; undefined for a watch-only wallet. */
  of(wallet: string): WalletSession | undefined;
  /** Adds a wallet (at a reload). */
  add(wallet: SessionWallet): Promise<void>;
  /** Removes a wallet: its session stays stored, and is not renewed any more. */
  remove(wallet: string): Promise<void>;
  readonly all: readonly WalletSession[];
  /** Retries failed sign-ins soon: their cause is over. */
  tryAgain(): void;
  readonly figures: Readonly<SessionFigures>;
}

export function createSessions(options: SessionsOptions): Sessions {
  const figures: SessionFigures = { authFailures: 0, repeatedAuthFailures: 0, logins: 0, refreshes: 0 };
  const parts: SessionParts = { ...options, figures };
  const sessions = new Map<string, WalletSession>();
  let running = false;
  const put = (wallet: SessionWallet) => {
    if (sessions.has(wallet.name)) throw new Error(`two wallets are called ${wallet.name}`);
    const session = new WalletSession(wallet, parts);
    sessions.set(wallet.name, session);
    return session;
  };
  for (const wallet of options.wallets) put(wallet);
  const { caller } = options;
  const tryAgain = () => {
    const waiting = [...sessions.values()].filter((session) => !session.signedIn).length;
    const takesMs = (waiting * SIGN_IN_REQUESTS * 1_000) / caller.budget.ratePerSecond;
    for (const session of sessions.values()) session.tryAgain(Math.max(SPREAD_MS, takesMs));
  };
  caller.onOutageEnd(tryAgain);
  caller.budget.onLimit((limited) => {
    if (!limited) tryAgain();
  });
  return {
    async start() {
      running = true;
      await Promise.all([...sessions.values()].map((session) => session.start()));
    },
    async stop() {
      running = false;
      await Promise.all([...sessions.values()].map((session) => session.stop()));
    },
    of: (wallet) => sessions.get(wallet),
    async add(wallet) {
      const session = put(wallet);
      if (running) await session.start();
    },
    async remove(wallet) {
      const session = sessions.get(wallet);
      sessions.delete(wallet);
      await session?.stop();
    },
    tryAgain,
    get all() {
      return [...sessions.values()];
    },
    figures,
  };
}
