/**
 * The alerts that rules in shadow mode would have sent: their alerts as they were recorded, and who would have been sent
 * word.
 */
import { type Routing, receiversFor } from "../alerts/route.ts";
import type { Alert, AlertChangeKind } from "../domain/alert.ts";
import type { Store } from "../domain/ports.ts";
import type { RuleSet } from "../rules/index.ts";

/** Steps of which somebody is told. */
const tells: ReadonlySet<AlertChangeKind> = new Set([
  "fired",
  "rose",
  "fell",
  "worsened",
  "changed",
  "reminder",
  "ended",
]);

export interface ShadowRule {
  readonly rule: string;
  /** Left out since, or live now. */
  readonly isShadow: boolean;
  readonly alerts: number;
  /** Steps that somebody would have been told of, for each receiver one. */
  readonly messages: number;
  readonly receivers: readonly string[];
}

export interface ShadowReport {
  readonly sinceMs: number;
  readonly rules: readonly ShadowRule[];
  /** Newest first. */
  readonly alerts: readonly Alert[];
}

export async function shadowReport(
  store: Pick<Store, "alerts" | "alertChanges">,
  { conditions, events }: RuleSet,
  routing: Routing,
  sinceMs: number,
): Promise<ShadowReport> {
  const all = await store.alerts({ shadow: true });
  const alerts = all.filter((alert) => (alert.endedAtMs ?? Number.POSITIVE_INFINITY) >= sinceMs);
  const inShadow = [...conditions, ...events].filter(({ mode }) => mode === "shadow").map(({ name }) => name);
  const names = new Set([...inShadow, ...alerts.map(({ rule }) => rule)]);
  const rules: ShadowRule[] = [];
  for (const rule of names) {
    const own = alerts.filter((alert) => alert.rule === rule);
    const receivers = new Set<string>();
    let messages = 0;
    for (const alert of own) {
      for (const change of await store.alertChanges({ alertId: alert.id })) {
        if (change.atMs < sinceMs || !tells.has(change.kind)) continue;
        const to = receiversFor(routing, labelsOf(change.alert));
        for (const receiver of to) receivers.add(receiver);
        messages += to.length;
      }
    }
    rules.push({
      rule,
      isShadow: inShadow.includes(rule),
      alerts: own.length,
      messages,
      receivers: [...receivers],
    });
  }
  return { sinceMs, rules, alerts };
}

function labelsOf({
  labels,
  severity,
  rule,
  wallet,
  symbol,
  subject,
}: Alert): Readonly<Record<string, string>> {
  return { ...labels, severity, rule, wallet: wallet ?? "", symbol: symbol ?? "", subject };
}
