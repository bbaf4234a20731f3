/**
 * Which receivers an alert goes to: a tree whose first matching route wins unless it says `continue: true`. Pure.
 */
import { z } from "zod";

const stringOrList = z.union([z.string(), z.array(z.string()).min(1)]);

/** Matchers by label: a value, or a list of which one has to be it. `severity`, `rule`, `wallet`, `symbol`, `subject` are labels. */
const match = z.record(z.string(), stringOrList);

export const routeSettings = z.strictObject({
  match,
  receivers: z.array(z.string()).min(1),
  continue: z.boolean().default(false),
});

/** `routing:` of the configuration. Receivers are names of channels. */
export const routingSettings = z.strictObject({
  receivers: z.array(z.string()).min(1),
  routes: z.array(routeSettings).default([]),
});

export type Routing = z.infer<typeof routingSettings>;

/** What a route can match: the alert's labels with `severity`, `rule`, `wallet`, `symbol` and `subject` among them. */
export type RoutedLabels = Readonly<Record<string, string>>;

/** @returns the receivers, each once, in the order of the tree. */
export function receiversFor(routing: Routing, labels: RoutedLabels): readonly string[] {
  const receivers = new Set<string>();
  for (const route of routing.routes) {
    if (!matches(route.match, labels)) continue;
    for (const receiver of route.receivers) receivers.add(receiver);
    if (!route.continue) return [...receivers];
  }
  if (receivers.size === 0) for (const receiver of routing.receivers) receivers.add(receiver);
  return [...receivers];
}

function matches(wanted: z.infer<typeof match>, labels: RoutedLabels): boolean {
  for (const [name, value] of Object.entries(wanted)) {
    const actual = labels[name] ?? "";
    if (typeof value === "string" ? actual !== value : !value.includes(actual)) return false;
  }
  return true;
}
