/** A fixed state of the daemon for the dashboard, with everything that the page has to handle. */
import type { DashboardSource } from "../../src/domain/ports.ts";
import type {
  AccountStatus,
  DaemonStatus,
  FiringAlert,
  PositionStatus,
  WalletStatus,
} from "../../src/domain/status.ts";

export const nowMs = Date.UTC(2026, 10, 20, 12, 0, 0);

export function alert(of: Partial<FiringAlert>): FiringAlert {
  return {
    ...{ id: 1, rule: "LiquidationNear", subject: "main/0.0/SOL", wallet: "main", symbol: "SOL", labels: {} },
    ...{
      severity: "critical",
      state: "firing",
      event: false,
      sinceMs: nowMs - 95_000,
      firedAtMs: nowMs - 90_000,
    },
    ...{
      endedAtMs: null,
      ending: null,
      alreadySo: false,
      summary: "SOL is 3.1 % from liquidation",
      description: "",
    },
    ...{
      runbook: null,
      value: 0.031,
      dataAtMs: nowMs,
      acknowledgedBy: null,
      acknowledgedAtMs: null,
      eventKey: null,
      textAtMs: nowMs - 300,
    },
    ...of,
  };
}

export function position(
  account: string,
  symbol: string,
  figures: PositionStatus["figures"],
): PositionStatus {
  const side = (figures.size ?? 0) < 0 ? "short" : "long";
  return { name: `${account}/${symbol}`, symbol, side: `${side}#4`, seenMs: nowMs - 1_300, figures };
}

export function account(of: Partial<AccountStatus> & { readonly name: string }): AccountStatus {
  return {
    ...{ state: "active", riskTier: "safe", seenMs: nowMs - 800, figures: {}, positions: [], orders: 0 },
    ...of,
  };
}

export function wallet(of: Partial<WalletStatus> & { readonly name: string }): WalletStatus {
  return {
    ...{
      authority: "8Xk4b2nUo7QwqVf3mT1pZr6cYh5dLs9eJg2aNu4iRt7K",
      watchOnly: false,
      labels: {},
      signedIn: true,
    },
    ...{ sessionDetail: "", seenMs: nowMs - 800, unacked: 0, figures: {}, accounts: [] },
    ...of,
  };
}

const sol = position("main/0.0", "SOL", {
  ...{ size: 1250, notional: 178_437.5, entryPrice: 151.2, markPrice: 142.75, liquidationPrice: 138.29 },
  ...{ liquidationDistance: 0.0312, unrealizedPnl: -10_562.5, leverage: 6.4 },
  ...{ stopLossPrice: 139.5, stopLossCoverage: 0.4 },
});
const eth = position("main/0.0", "ETH", {
  ...{ size: -12.5, notional: 39_062.5, entryPrice: 3_180, markPrice: 3_125, liquidationPrice: 3_790.4 },
  ...{ liquidationDistance: 0.2129, unrealizedPnl: 687.5, leverage: 1.4 },
});
const btc = position("main/0.1", "BTC", {
  ...{ size: 0.05, notional: 4_610, entryPrice: 91_004, markPrice: 92_200, liquidationPrice: null },
  ...{
    liquidationDistance: Number.POSITIVE_INFINITY,
    unrealizedPnl: 59.8,
    leverage: 0.9,
    stopLossPrice: null,
  },
});
const bonk = position("desk/0.0", "1MBONK", {
  ...{ size: -40_000, notional: 820_000, entryPrice: 21.4, markPrice: 20.5, liquidationPrice: 22.29 },
  ...{ liquidationDistance: 0.0873, unrealizedPnl: 36_000, leverage: 3.1 },
});

export function status(of: Partial<DaemonStatus> = {}): DaemonStatus {
  return {
    ...{
      version: "0.1.0",
      startedMs: nowMs - 93_784_000,
      state: "running",
      clockOffsetMs: 12.4,
      loopLagMs: 1.7,
    },
    watch: {
      ...{ atMs: nowMs - 300, startedMs: nowMs - 93_784_000, rules: 21, viewMismatches: 1 },
      wallets: [
        wallet({
          name: "desk",
          figures: { equity: 264_500, netDeposits: 250_000, pnl: 14_500 },
          accounts: [
            account({
              name: "desk/0.0",
              figures: {
                equity: 264_500,
                marginRatio: 0.412,
                maintenanceMargin: 108_974,
                freeCollateral: 91_220,
                leverage: 3.1,
              },
              positions: [bonk],
              orders: 14,
            }),
          ],
        }),
        wallet({
          name: "main",
          unacked: 3,
          figures: { equity: 28_012.44 },
          accounts: [
            account({
              name: "main/0.0",
              riskTier: "atRisk",
              figures: {
                equity: 27_880.11,
                marginRatio: 0.871,
                maintenanceMargin: 24_283.5,
                freeCollateral: 0,
                leverage: 7.8,
              },
              positions: [eth, sol],
              orders: 2,
            }),
            account({
              name: "main/0.1",
              figures: {
                equity: 5_120,
                marginRatio: 0.02,
                maintenanceMargin: 102.4,
                freeCollateral: 4_600,
                leverage: 0.9,
              },
              positions: [btc],
            }),
            account({ name: "main/0.2", figures: { marginRatio: Number.POSITIVE_INFINITY, equity: null } }),
          ],
        }),
        wallet({ name: "watched", watchOnly: true, signedIn: false, seenMs: nowMs - 74_000, unacked: null }),
      ],
      markets: [{ symbol: "SOL", status: "active", figures: { markPrice: 142.75, openInterest: null } }],
      exchange: { active: true, gated: false, withdrawalsAvailable: true, seenMs: nowMs - 9_000 },
      firing: [
        alert({
          id: 41,
          rule: "FundingCost",
          severity: "info",
          subject: "desk/0.0/1MBONK",
          wallet: "desk",
          summary: "Funding costs 41 USD a day",
          firedAtMs: nowMs - 8_000,
        }),
        alert({ id: 57, acknowledgedBy: "ann" }),
        alert({
          id: 55,
          rule: "Drawdown",
          severity: "warning",
          subject: "main",
          summary: "Down 12.4 % from the high of 31,980 USD",
          firedAtMs: nowMs - 1_260_000,
          alreadySo: true,
          worst: { severity: "warning", value: 0.151, summary: "Down 15.1 %", atMs: nowMs - 600_000 },
        }),
      ],
      ruleStates: [
        { rule: "LiquidationNear", mode: "live", ok: 2, noData: 1, error: 0 },
        { rule: "Trial", mode: "shadow", ok: 1, noData: 0, error: 1 },
      ],
      unjudged: [],
      shadow: [],
      pending: [
        {
          rule: "MarginRatioHigh",
          subject: "main/0.0",
          severity: "critical",
          sinceMs: nowMs - 71_000,
          heldMs: 11_000,
          forMs: 30_000,
        },
      ],
      blind: [
        {
          wallet: "watched",
          source: "traderState",
          sinceMs: nowMs - 64_000,
          rules: ["LiquidationNear", "MarginRatioHigh"],
        },
      ],
    },
    outage: null,
    schedules: [
      {
        source: "traderState",
        wallet: "main",
        everyMs: 1_000,
        lastOkMs: nowMs - 800,
        lastFailure: null,
        failuresInRow: 0,
        catchUpFailure: null,
      },
      {
        source: "traderState",
        wallet: "desk",
        everyMs: 5_000,
        lastOkMs: nowMs - 4_100,
        lastFailure: null,
        failuresInRow: 0,
        catchUpFailure: null,
      },
      {
        ...{
          source: "traderState",
          wallet: "watched",
          everyMs: 5_000,
          lastOkMs: nowMs - 74_000,
          failuresInRow: 12,
          catchUpFailure: null,
        },
        lastFailure: { atMs: nowMs - 2_000, reason: "timeout", detail: "no answer within 4 s" },
      },
      {
        source: "markets",
        wallet: null,
        everyMs: 2_000,
        lastOkMs: nowMs - 1_300,
        lastFailure: null,
        failuresInRow: 0,
        catchUpFailure: null,
      },
      {
        source: "notifications",
        wallet: "main",
        everyMs: 10_000,
        lastOkMs: nowMs - 6_200,
        lastFailure: null,
        failuresInRow: 0,
        catchUpFailure: null,
      },
      {
        source: "funding",
        wallet: "main",
        everyMs: 300_000,
        lastOkMs: null,
        lastFailure: null,
        failuresInRow: 0,
        catchUpFailure: null,
      },
    ],
    requests: { ceilingPerSecond: 20, ratePerSecond: 20, used: 0.31, waiting: 0 },
    streams: {
      connections: [
        {
          wallet: null,
          connected: true,
          detail: "connected",
          sinceMs: nowMs - 3_600_000,
          lastToldMs: nowMs - 250,
          subscriptions: 5,
          refused: 0,
          reconnects: 2,
          frames: 90_210,
          badFrames: 1,
        },
        {
          wallet: "main",
          connected: false,
          detail: "the exchange closed it: 1012 restart",
          sinceMs: nowMs - 20_000,
          lastToldMs: null,
          subscriptions: 1,
          refused: 0,
          reconnects: 0,
          frames: 3,
          badFrames: 0,
        },
      ],
      missed: 1,
    },
    channels: [
      {
        name: "chat",
        kind: "discord",
        working: true,
        retrying: false,
        detail: "",
        waiting: 1,
        oldestWaitingMs: 400,
        delivered: 212,
        dead: 0,
        failures: { "rate-limited": 3 },
      },
      {
        name: "mail",
        kind: "email",
        working: false,
        retrying: false,
        detail: "535 authentication failed",
        waiting: 4,
        oldestWaitingMs: 540_000,
        delivered: 88,
        dead: 1,
        failures: { authentication: 9 },
      },
    ],
    acknowledgements: { waiting: 2, due: 0, confirmed: 131, left: 5 },
    database: { path: "./data/perpwatch.db", bytes: 48_230_400, waitingCommits: 0 },
    ...of,
  };
}

/** A state without any problem. */
export function calmStatus(): DaemonStatus {
  const { watch, schedules, channels, ...rest } = status();
  return {
    ...rest,
    watch: {
      ...watch,
      wallets: watch.wallets.filter(({ name }) => name === "desk"),
      firing: [],
      ruleStates: [],
      unjudged: [],
      shadow: [],
      pending: [],
      blind: [],
    },
    schedules: schedules.filter(({ failuresInRow }) => failuresInRow === 0),
    channels: channels
      .filter(({ working }) => working)
      .map((channel) => ({ ...channel, waiting: 0, oldestWaitingMs: null })),
  };
}

/** A source that answers from `status`, knows alert 57, wallet `main` and channel `chat`, and records requests. */
export function source(of: Partial<DashboardSource> = {}): DashboardSource & { readonly asked: unknown[][] } {
  const asked: unknown[][] = [];
  const note = <A extends unknown[], R>(name: string, answer: (...args: A) => R) => {
    return async (...args: A): Promise<R> => {
      asked.push([name, ...args]);
      return answer(...args);
    };
  };
  return {
    asked,
    status: () => status(),
    ready: () => ({ ready: true, reasons: [] }),
    explain: () => ({ kind: "noRule", known: ["LiquidationNear"] }),
    whatIf: (question) => {
      asked.push(["whatIf", question]);
      if (question.wallet === "nobody") return { kind: "noWallet" };
      if (question.prices.includes("SOL=x")) return { kind: "wrong", problem: "SOL=x: expected a price" };
      return { kind: "done", answer: { wallet: question.wallet, atMs: 0, accounts: [] } };
    },
    alerts: note("alerts", () => [alert({ id: 57 })]),
    alert: note("alert", (id) =>
      id === 57 ? { alert: alert({ id }), changes: [], owed: [], messages: [] } : null,
    ),
    acknowledgeAlert: note("acknowledgeAlert", (id) =>
      id === 57 ? "done" : id === 58 ? "ended" : "unknown",
    ),
    auditNotifications: note("auditNotifications", () => []),
    drill: note("drill", () => ({ kind: "begun", alertId: 57, channels: ["chat"], withinMs: 1_000 })),
    silences: () => [],
    silence: note(
      "silence",
      ({ matchers, upTo = "warning", author, comment, startsMs = 0, endsMs }, preview) =>
        matchers[0] === "nonsense"
          ? { kind: "wrong", problem: '"nonsense" is no matcher' }
          : {
              kind: "done",
              silence: { id: 1, match: {}, upTo, author, comment, startsMs, endsMs, createdMs: 0 },
              holds: preview ? [alert({ id: 57 })] : [],
            },
    ),
    expireSilence: note("expireSilence", (id) => (id === 1 ? "done" : id === 2 ? "over" : "unknown")),
    notifications: note("notifications", ({ wallet: name }) => (name === "nobody" ? null : [])),
    acknowledgeNotifications: note("acknowledgeNotifications", (what) =>
      what.wallet === "main"
        ? { confirmed: "keys" in what ? what.keys : ["up to a time"], already: [], unknown: [], failed: [] }
        : null,
    ),
    digest: note("digest", (receivers) =>
      receivers.includes("fax")
        ? { kind: "unknown", channel: "fax" }
        : {
            kind: "told",
            messageIds: receivers.map((name) => `id-of-${name}`),
            content: {
              ...{ kind: "digest", severity: "info", resolved: false, title: "Digest of 24h", items: [] },
              sections: [{ title: "Equity and profit", rows: [["main", "$12,345.00"]] }],
              sender: "perpwatch on nuc",
            },
          },
    ),
    compactHistory: note("compactHistory", () => ({ finished: true, freedBytes: 8_192, leftBytes: 0 })),
    testChannel: note("testChannel", (name) =>
      name === "chat"
        ? { kind: "delivered", receipt: "1187" }
        : name === "mail"
          ? { kind: "retry", failure: "timeout", detail: "no greeting within 10 s", afterMs: null }
          : null,
    ),
    login: note("login", (name) =>
      name === "main"
        ? { kind: "done", detail: "until 14:00" }
        : name === "watched"
          ? { kind: "watchOnly" }
          : null,
    ),
    logout: note("logout", (name) =>
      name === "main" ? { kind: "failed", detail: "the exchange is unreachable" } : null,
    ),
    ...of,
  };
}

/** No data for three minutes; the mail channel is not reachable either. */
export function darkStatus(): DaemonStatus {
  const sinceMs = nowMs - 180_000;
  const { watch, schedules, channels, ...rest } = status();
  const old = <T extends { readonly seenMs: number | null }>(one: T): T => ({ ...one, seenMs: sinceMs });
  return {
    ...rest,
    outage: {
      sinceMs,
      reason: "unreachable",
      what: "cannot be reached",
      detail: "connect ECONNREFUSED 10.0.0.1:443",
    },
    watch: {
      ...watch,
      exchange: old(watch.exchange),
      wallets: watch.wallets.map((wallet) => ({
        ...old(wallet),
        accounts: wallet.accounts.map((account) => ({
          ...old(account),
          positions: account.positions.map(old),
        })),
      })),
      firing: watch.firing.map((one) => ({ ...one, textAtMs: sinceMs })),
    },
    schedules: schedules.map((one) => ({
      ...one,
      lastOkMs: sinceMs,
      failuresInRow: 9,
      lastFailure: {
        atMs: nowMs,
        reason: "unreachable",
        detail: `${one.source}: connect ECONNREFUSED 10.0.0.1:443`,
      },
    })),
    channels: channels.map((one) => ({
      ...one,
      working: true,
      retrying: true,
      detail: "connect ECONNREFUSED 10.0.0.2:587",
    })),
  };
}
