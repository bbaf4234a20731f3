/** A scenario for people: its violations, its plan, and a timeline of all that happened in it. */
import type { Logged } from "./log.ts";
import type { Finding } from "./oracle/finding.ts";
import type { Outcome } from "./scenario.ts";

/** Text of a file about one scenario. */
export function reportOf(
  { plan, log, digest, sections }: Outcome,
  violations: readonly string[],
  options = `--seeds ${plan.seed}`,
): string {
  const { seed, start, world, troubles } = plan;
  const times = [
    ...troubles.faults.map(({ fromMs, toMs, ...fault }) => ({
      fromMs,
      text: `${timeOf(start.atMs + fromMs)} to ${timeOf(start.atMs + toMs)}  ${shortly(fault)}`,
    })),
    ...troubles.life.map(({ atMs, ...event }) => ({
      fromMs: atMs,
      text: `${timeOf(start.atMs + atMs)}                  ${shortly(event)}`,
    })),
  ];
  const { channels, routing, ruleOverrides } = sections[0] ?? {};
  return [
    `seed ${seed}: npm run truth -- ${options}`,
    `hash ${digest}`,
    "",
    "VIOLATIONS",
    ...(violations.length === 0 ? ["none"] : violations),
    "",
    `begins at ${new Date(start.atMs).toISOString()} (${start.kind}${start.timezone === null ? "" : ` of ${start.timezone}`})`,
    "",
    "WALLETS",
    ...world.wallets.map((wallet) => JSON.stringify(wallet)),
    ...world.accounts.map((account, index) => `${index}  ${JSON.stringify(account)}`),
    `the exchange grants ${world.requestsPerSecond ?? "any number of"} requests a second`,
    "",
    "CHANNELS",
    ...linesOfSection(channels),
    `routing  ${JSON.stringify(routing)}`,
    "",
    "RULES, where they are configured otherwise than shipped",
    ...linesOfSection(ruleOverrides),
    "",
    `TROUBLES (UTC; the daemon's clock is ${Math.round(troubles.aheadMs)} ms ahead)`,
    ...times.sort((a, b) => a.fromMs - b.fromMs).map(({ text }) => text),
    "",
    "TIMELINE (UTC; of all answers, only those that failed)",
    ...log.entries.flatMap((entry) => linesOf(entry).map((line) => `${timeOf(entry.atMs)}  ${line}`)),
    "",
  ].join("\n");
}

const linesOfSection = (section: unknown): readonly string[] =>
  Object.entries((section ?? {}) as Record<string, unknown>).map(
    ([name, value]) => `${name}  ${JSON.stringify(value)}`,
  );

/** Numbers of plans have more digits than anybody reads. */
const shortly = (value: object): string =>
  JSON.stringify(value, (_, part: unknown) =>
    typeof part === "number" ? Number(part.toPrecision(4)) : part,
  );

const aroundMs = 4_000;
const maxAround = 14;

/** The timeline around a finding of the oracle, as far as it is about the same wallet or about nobody's. */
export function around(
  { log, plan: { world } }: Outcome,
  { subject, atMs }: Pick<Finding, "subject" | "atMs">,
): readonly string[] {
  const wallet = subject.split("/")[0] ?? "";
  const [symbol] = subject.split("/").slice(2);
  const isOfWallet = world.wallets.some(({ name }) => name === wallet);
  const mark = symbol === undefined ? /^world {5}mark/ : new RegExp(`^world {5}mark of ${symbol}`);
  const isAbout = (line: string): boolean =>
    /^(trouble|life)/.test(line) ||
    (isOfWallet
      ? line.includes(`${wallet}/`) || line.includes(` ${wallet}:`) || mark.test(line)
      : /^(alert|arrived|refused|failed)/.test(line));
  const lines = log.entries
    .filter((entry) => Math.abs(entry.atMs - atMs) <= aroundMs && entry.kind !== "said")
    .flatMap((entry) =>
      linesOf(entry)
        .filter(isAbout)
        .map((line) => ({ atMs: entry.atMs, line })),
    );
  const nearest = lines.sort((a, b) => Math.abs(a.atMs - atMs) - Math.abs(b.atMs - atMs)).slice(0, maxAround);
  return nearest.sort((a, b) => a.atMs - b.atMs).map((one) => `${timeOf(one.atMs)}  ${one.line}`);
}

/** The lines about an entry; none where it says nothing that another one does not. */
function linesOf(entry: Logged): readonly string[] {
  switch (entry.kind) {
    case "deed":
      return [`world     ${entry.text}`];
    case "fault":
      return [`trouble   ${entry.text}`];
    case "life":
      return [`life ${entry.life}    ${entry.text}`];
    case "said":
      return [`log       ${entry.text}`];
    case "asked":
      return entry.status === 200 && entry.garbled === null
        ? []
        : [
            `asked     ${entry.target}: ${entry.status ?? "no answer"}${entry.garbled === null ? "" : `, garbled: ${entry.garbled}`}`,
          ];
    case "stalled":
      return [`trouble   the process stands still for ${Math.round(entry.ms)} ms`];
    case "streamOpens":
      return ["stream    opens"];
    case "streamEnds":
      return [`stream    ${entry.was ? "ends" : "cannot be had"}${entry.by ? ", by the exchange" : ""}`];
    case "garbledFrame":
      return [`stream    a frame is garbled: ${entry.garbled}`];
    case "forbidden":
      return [`refused   everything on ${entry.channel}, whose key is not known`];
    case "rejected":
      return [`refused   ${entry.channel} ${entry.id}, for good`];
    case "ledger":
      return [
        ...entry.accounts.map(({ name, version: { collateral, positions } }) => {
          const held = positions.map(({ symbol, baseLots }) => `${baseLots} lots of ${symbol}`).join(", ");
          return `exchange  ${name}: ${Number(collateral) / 1e6} USD, ${held || "flat"}`;
        }),
        ...entry.notifications.map(
          ({ wallet, key, type }) => `exchange  ${wallet} is notified: ${type}, ${key}`,
        ),
      ];
    case "sent":
    case "shown":
    case "attempt":
    case "frame":
      return [];
    case "refused": {
      const changes = entry.changes.flatMap((one) => one.alertChanges);
      const alerts = changes.map(({ alert, kind }) => `#${alert.id} ${kind}`).join(", ");
      return [
        `refused   ${entry.changes.length} changes of life ${entry.life}${alerts && `, with ${alerts}`}`,
      ];
    }
    case "arrived": {
      const { id, alertIds, content } = entry.message;
      const attempt = entry.attempt === 0 ? "" : `, attempt ${entry.attempt + 1}`;
      return [`arrived   ${entry.channel} ${id} (alerts ${alertIds.join(", ")}${attempt}): ${content.title}`];
    }
    case "answered":
      return [`confirmed ${entry.channel} ${entry.id}`];
    case "acknowledged":
      return [`inbox     ${entry.wallet}: ${entry.key} is acknowledged`];
    case "committed": {
      const { alertChanges, failedReads, deliveryItems: owed, acknowledgements } = entry.changes;
      return [
        ...alertChanges.flatMap(({ kind, alert, details, advice = [] }) => {
          const ending = kind === "ended" ? ` (${alert.ending})` : "";
          const how = `${alert.severity} ${alert.rule} ${alert.subject}`;
          return [
            `alert     #${alert.id} ${kind}${ending} ${how}: ${alert.summary}`,
            ...(alert.description === "" ? [] : [`          ${alert.description.replaceAll("\n", " ")}`]),
            ...advice.map(({ line }) => `          ${line}`),
            ...(details.length === 0
              ? []
              : [`          ${details.map(([name, value]) => `${name}: ${value}`).join("; ")}`]),
          ];
        }),
        ...failedReads.map(
          ({ source, wallet, reason, detail }) =>
            `failed    ${source} of ${wallet ?? "the exchange"}: ${reason}, ${detail}`,
        ),
        ...owed.map(({ id, alertId, receiver, status, messageId }) =>
          `owed      item ${id} of #${alertId} to ${receiver}: ${status} ${messageId ?? ""}`.trimEnd(),
        ),
        ...acknowledgements.map(
          ({ key, status, reason }) => `to ack    ${key}: ${status}${reason ? `, ${reason}` : ""}`,
        ),
      ];
    }
  }
}

const timeOf = (ms: number): string => new Date(ms).toISOString().slice(11, 23);
