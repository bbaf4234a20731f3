/** A fake of the daemon's chat actions, for tests. */
import type { Alert, AlertChange } from "../../src/domain/alerts/alert.ts";
import type { Silence } from "../../src/domain/alerts/silence.ts";
import type { ChatActions } from "../../src/domain/ports.ts";
import type { DaemonStatus } from "../../src/domain/status.ts";
import { alert, atMs, change, message } from "./messages.ts";

/** The part of the daemon that a chat uses. */
export function fakeActions(nowMs: () => number) {
  const alerts = new Map<number, Alert>([[42, alert()]]);
  const silences: Silence[] = [];
  /** Receipts of messages about any alert. */
  const receipts: { readonly receiver: string; readonly receipt: string; readonly deliveredAtMs?: number }[] =
    [];
  /** Messages about an alert in its state at firing. */
  const messagesOf = (found: Alert) => {
    const delivered = {
      ...message([change("fired", found)]),
      ...{ status: "delivered" as const, deliveredAtMs: atMs + 900 },
    };
    return [delivered, ...receipts.map((one) => ({ ...delivered, ...one }))];
  };
  const done: string[] = [];
  /** Acknowledgements that precede a test. */
  const acknowledgements: AlertChange[] = [];
  let status = emptyStatus();
  const actions: ChatActions = {
    status: () => status,
    silences: () => silences,
    async alert(id) {
      const found = alerts.get(id);
      if (found === undefined) return null;
      const changes = [change("fired", found), ...acknowledgements.filter(({ alertId }) => alertId === id)];
      return { alert: found, changes, owed: [], messages: messagesOf(found) };
    },
    shownIn: async () => null,
    async criticalMessages(sealedFromMs) {
      const found = [...alerts.values()].filter(({ severity }) => severity === "critical");
      return found.flatMap(messagesOf).filter(({ sealedAtMs }) => sealedAtMs >= sealedFromMs);
    },
    async acknowledgeAlert(id, by, comment) {
      const found = alerts.get(id);
      if (!found) return "unknown";
      if (found.acknowledgedBy !== null) return "already";
      if (found.state === "ended" && !found.event) return "ended";
      done.push(`ack ${id} by ${by}: ${comment}`);
      alerts.set(id, { ...found, acknowledgedBy: by, acknowledgedAtMs: nowMs() });
      return "done";
    },
    async silence(wish, preview) {
      if (wish.matchers.some((one) => !one.includes("="))) return { kind: "wrong", problem: "no matcher" };
      const match = Object.fromEntries(
        wish.matchers.map((one) => [one.split("=")[0]!, { in: [one.split("=")[1]!] }]),
      );
      const { author, comment, endsMs, upTo = "warning" } = wish;
      const id = silences.length + 1;
      const silence = { id, match, upTo, author, comment, startsMs: nowMs(), endsMs, createdMs: nowMs() };
      if (!preview) {
        silences.push(silence);
        done.push(`silence ${wish.matchers.join(" ")} upTo ${upTo} by ${author}`);
      }
      return { kind: "done", silence, holds: [...alerts.values()] };
    },
  };
  return {
    ...{ actions, alerts, silences, receipts, acknowledgements, done },
    setStatus: (parts: object) => {
      status = {
        ...status,
        ...parts,
        watch: { ...status.watch, ...("watch" in parts ? Object(parts.watch) : {}) },
      };
    },
  };
}

function emptyStatus(): DaemonStatus {
  return {
    version: "1.2.3",
    startedMs: atMs - 3_600_000,
    state: "running",
    watch: {
      ...{ atMs, startedMs: atMs - 3_600_000, wallets: [], markets: [], firing: [], shadow: [], pending: [] },
      ...{ blind: [], ruleStates: [], unjudged: [], rules: 3, viewMismatches: 0 },
      exchange: { active: true, gated: false, withdrawalsAvailable: true, seenMs: atMs },
    },
    outage: null,
    ...{ schedules: [], channels: [] },
    requests: { ceilingPerSecond: 10, ratePerSecond: 1, used: 0, waiting: 0 },
    acknowledgements: { waiting: 0, due: 0, confirmed: 0, left: 0 },
    database: { path: "x.db", bytes: 0, waitingCommits: 0 },
    clockOffsetMs: 0,
    loopLagMs: 0,
  };
}
