/**
 * Decides the receivers of an alert by a tree of routes. At each level the first matching route takes the alert, unless
 * it has `continue: true`; the deepest match counts. A route inherits missing settings from its parent. Pure.
 */
import { z } from "zod";
import { parseDurationMs } from "../../domain/text/duration.ts";
import { type Labels, labelOf, type Matchers, matches, matchSettings } from "./match.ts";
import { type MuteTimes, muteTimesSettings } from "./mute.ts";

export const duration = z
  .string({ error: "expected a duration such as 1s or 5m" })
  .transform((text, context) => {
    const ms = parseDurationMs(text);
    if (ms !== undefined) return ms;
    context.addIssue({ code: "custom", message: `expected a duration such as 1s or 5m, found "${text}"` });
    return z.NEVER;
  });
const longer = duration.refine((ms) => ms > 0, "must be longer than nothing");

const receivers = z.array(z.string()).min(1);
/** `repeat`: number of further notifications, `after` each time, while nobody acknowledges. */
const escalation = z.strictObject({ after: longer, receivers, repeat: z.int().min(0).max(100).default(0) });

/** Labels that distinguish incidents; `never`: each alert is sent separately. */
const incidentBy = z.union([z.literal("never"), z.array(z.string())], {
  error: "expected labels such as [desk], [] for one incident at a time, or never",
});

const inherited = {
  receivers: receivers.optional(),
  groupBy: z.array(z.string()).optional(),
  groupWait: duration.optional(),
  groupInterval: duration.optional(),
  incidentBy: incidentBy.optional(),
  mute: z.array(z.string()).optional(),
  escalate: z.array(escalation).optional(),
};

export interface RouteSettings {
  readonly match: Matchers;
  readonly receivers?: readonly string[] | undefined;
  readonly groupBy?: readonly string[] | undefined;
  readonly groupWait?: number | undefined;
  readonly groupInterval?: number | undefined;
  readonly incidentBy?: "never" | readonly string[] | undefined;
  readonly mute?: readonly string[] | undefined;
  readonly escalate?:
    | readonly { readonly after: number; readonly receivers: readonly string[]; readonly repeat: number }[]
    | undefined;
  readonly continue: boolean;
  readonly routes: readonly RouteSettings[];
}

export const routeSettings: z.ZodType<RouteSettings> = z.strictObject({
  match: matchSettings,
  ...inherited,
  continue: z.boolean().default(false),
  get routes() {
    return z.array(routeSettings).default([]);
  },
});

/** `routing:` of the configuration. Receivers are names of channels. */
export const routingSettings = z.strictObject({
  ...inherited,
  receivers,
  groupBy: z.array(z.string()).default(["wallet"]),
  groupWait: duration.default(1_000),
  groupInterval: duration.default(5_000),
  incidentBy: incidentBy.default(["desk"]),
  /** More groups than this that wait for one receiver leave as one message. */
  stormFold: z.int().min(1).max(100).default(3),
  muteTimes: muteTimesSettings.default({}),
  routes: z.array(routeSettings).default([]),
});

export type Routing = z.infer<typeof routingSettings>;

/** The labels that a route can match: the alert's labels with `severity`, `rule`, `wallet`, `symbol` and `subject`. */
export type RoutedLabels = Labels;

export interface Escalation {
  readonly afterMs: number;
  readonly receivers: readonly string[];
}

/** One path of an alert to receivers. */
export interface Way {
  /** The route's place in the tree, empty for the root. */
  readonly path: readonly number[];
  readonly receivers: readonly string[];
  readonly groupBy: readonly string[];
  readonly groupWaitMs: number;
  readonly groupIntervalMs: number;
  /** Labels that distinguish incidents: alerts with the same values belong together. */
  readonly incidentBy: "never" | readonly string[];
  /** Names of mute times. */
  readonly mute: readonly string[];
  readonly escalate: readonly Escalation[];
}

/** @returns every way that an alert with these labels takes, at least one */
export function waysFor(routing: Routing, labels: RoutedLabels): readonly Way[] {
  const { receivers, groupBy, groupWait, groupInterval, incidentBy, mute, escalate } = routing;
  const root: Way = {
    path: [],
    receivers,
    groupBy,
    groupWaitMs: groupWait,
    groupIntervalMs: groupInterval,
    incidentBy,
    mute: mute ?? [],
    escalate: escalationsOf(escalate) ?? [],
  };
  return below(routing.routes, root, labels) ?? [root];
}

/** @returns null if no route matches */
function below(routes: readonly RouteSettings[], above: Way, labels: RoutedLabels): Way[] | null {
  const found: Way[] = [];
  for (const [index, route] of routes.entries()) {
    if (!matches(route.match, labels)) continue;
    const own: Way = {
      path: [...above.path, index],
      receivers: route.receivers ?? above.receivers,
      groupBy: route.groupBy ?? above.groupBy,
      groupWaitMs: route.groupWait ?? above.groupWaitMs,
      groupIntervalMs: route.groupInterval ?? above.groupIntervalMs,
      incidentBy: route.incidentBy ?? above.incidentBy,
      mute: route.mute ?? above.mute,
      escalate: escalationsOf(route.escalate) ?? above.escalate,
    };
    found.push(...(below(route.routes, own, labels) ?? [own]));
    if (!route.continue) return found;
  }
  return found.length === 0 ? null : found;
}

function escalationsOf(settings: RouteSettings["escalate"]): readonly Escalation[] | undefined {
  return settings
    ?.flatMap(({ after, receivers: to, repeat }) =>
      Array.from({ length: repeat + 1 }, (_, i) => ({ afterMs: after * (i + 1), receivers: to })),
    )
    .sort((a, b) => a.afterMs - b.afterMs);
}

/** Returns every receiver in the tree, with those of escalations. */
export function allReceivers(routing: Routing): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (node: Pick<RouteSettings, "receivers" | "escalate" | "routes">) => {
    for (const name of node.receivers ?? []) found.add(name);
    for (const step of node.escalate ?? []) for (const name of step.receivers) found.add(name);
    node.routes.forEach(visit);
  };
  visit(routing);
  return found;
}

/** Returns the key of an alert's group on a way; equal for alerts that belong in one message. */
export function groupKeyOf(way: Way, labels: RoutedLabels): string {
  const values = way.groupBy.map((name) => `${name}=${labelOf(labels, name)}`);
  return `${way.path.join(".")}{${values.join(",")}}`;
}

export type { MuteTimes };
