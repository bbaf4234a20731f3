/**
 * config.yaml and everything that it names (key files, rule files, files of secrets) → the settings of a daemon, or every
 * mistake in any of them, at once. Nothing is started, opened for writing, or asked of a network here.
 *
 *   sections ──schemas of the rooms──► values ──references between them──► rules ──► settings
 */
import path from "node:path";
import type { AdviceSettings } from "../advice/settings.ts";
import { type AcknowledgeSettings, acknowledgeSettings } from "../alerts/acknowledge.ts";
import { type RemindSettings, remindSettings } from "../alerts/reminders/remind.ts";
import { type Inhibitions, inhibitSettings } from "../alerts/routing/inhibit.ts";
import { type Routing, routingSettings } from "../alerts/routing/route.ts";
import {
  type ChannelSettings,
  type MentionSettings,
  mentionSettings,
  secretSettings,
} from "../channels/registry.ts";
import type { RotaPlan } from "../channels/rota/plan.ts";
import { realSchedulesMs } from "../collect/schedule/demand.ts";
import { type ScheduleSettings, scheduleSettings } from "../collect/settings.ts";
import {
  type ConfigProblem,
  ConfigSource,
  type ConfigWarning,
  type Environment,
  type FileSetting,
  type Path,
  readTextFile,
} from "../config/index.ts";
import type { DigestSettings } from "../deliver/digest/settings.ts";
import { systemClock } from "../domain/clock.ts";
import { type ExchangeSettings, exchangeSettings, plannedPerSecond } from "../exchange/settings.ts";
import type { Retention } from "../history/index.ts";
import { type LedgerSettings, ledgerSettings } from "../ledger/settings.ts";
import type { RuleSet } from "../rules/index.ts";
import { type Keys, localKeys } from "../signer/keys.ts";
import { LoginForms, memoryForms } from "../signer/login-forms.ts";
import type { SignerSettings } from "../signer/settings.ts";
import type { WatchedPair } from "../state/wallets/watched.ts";
import { mustReadKeystore } from "../wallet/keystore-file.ts";
import type { ListenSettings } from "../web/settings.ts";
import { adviceSettings } from "./settings/advice.ts";
import { readChannels } from "./settings/channels.ts";
import { dashboardFiles, readDashboard } from "./settings/dashboard.ts";
import { readDigest } from "./settings/digest.ts";
import { type DrillSettings, readDrill } from "./settings/drill.ts";
import { type HeartbeatSettings, heartbeatSettings } from "./settings/heartbeat.ts";
import { readPairs } from "./settings/pairs.ts";
import { warnOfPlainAddresses } from "./settings/plain-addresses.ts";
import { checkAcknowledge, checkRouting } from "./settings/references.ts";
import { readRotas } from "./settings/rotas.ts";
import { type RuleTexts, readRules } from "./settings/rule-files.ts";
import { longestKept, readHistory, readTimezone } from "./settings/sections.ts";
import { readSigner } from "./settings/signer.ts";
import { type ReadTemplates, readTemplates } from "./settings/templates.ts";
import { readWallets, type WalletSettings, walletFiles } from "./settings/wallets.ts";

export {
  type ConfigProblem,
  type ConfigWarning,
  type Environment,
  formatConfigProblem,
  formatConfigWarning,
} from "../config/index.ts";

export type { WalletSettings } from "./settings/wallets.ts";

export interface DaemonSettings {
  /** The configuration's file as it was named; null when it came as text. */
  readonly file: string | null;
  /** Absolute: what relative paths in it are relative to. */
  readonly folder: string;
  readonly exchange: ExchangeSettings;
  /** IANA name. */
  readonly timezone: string;
  readonly wallets: readonly WalletSettings[];
  readonly signer: SignerSettings;
  /** Declared hedges. */
  readonly pairs: readonly WatchedPair[];
  readonly schedules: ScheduleSettings;
  /** `path` is absolute. */
  readonly history: { readonly path: string; readonly retention: Retention };
  readonly ruleSet: RuleSet;
  /** Names of the rule files, as rules carry them in `file`. */
  readonly ruleFiles: readonly string[];
  /** All rule files and overrides: enough to load the set again. */
  readonly ruleTexts: RuleTexts;
  /** The same as one text, without what came from the environment: equal for equal sets. */
  readonly ruleSetText: string;
  readonly channels: Readonly<Record<string, ChannelSettings>>;
  /** The plans of the rotas among the channels, by name. */
  readonly rotas: Readonly<Record<string, RotaPlan>>;
  /** The words of channels that have their own. */
  readonly templates: ReadTemplates;
  readonly routing: Routing;
  readonly inhibit: Inhibitions;
  readonly remind: RemindSettings;
  readonly advice: AdviceSettings;
  readonly acknowledge: AcknowledgeSettings;
  readonly mention: MentionSettings;
  /** Null: none leaves by itself. */
  readonly digest: DigestSettings | null;
  /** For onboarding and stop losses alone. Null: none is named; a simulated exchange has its own. */
  readonly ledger: LedgerSettings | null;
  readonly drill: DrillSettings;
  /** Null: nobody elsewhere is told that the daemon lives. */
  readonly heartbeat: HeartbeatSettings | null;
  /** Null: no page. */
  readonly dashboard: ListenSettings | null;
}

export type SettingsResult =
  | {
      readonly settings: DaemonSettings;
      readonly warnings: readonly ConfigWarning[];
      /** Mistakes of the page, which is off for them; none where they were to be told as others. */
      readonly pageProblems: readonly ConfigProblem[];
      /** For what is found wrong later, when the machine is asked: at the place of the setting. */
      problemAt(at: Path, message: string): ConfigProblem;
    }
  /** In the order of their files and lines. */
  | { readonly problems: readonly ConfigProblem[] };

export interface SettingsContext {
  /** As people name it, in problems; null: there is no file. */
  readonly file: string | null;
  /** The folder to which relative paths refer. */
  readonly folder: string;
  readonly env: Environment;
  /** The reason why a secret must not stand in the file; see `TextFile`. */
  readonly exposed?: string | null;
  /** The folder of the rule packs that come with the program. */
  readonly shippedRules?: string;
  /** Signers of the wallets. Left out: their keys are read, and forms of login are forgotten with the process. */
  readonly keys?: Keys;
  /** A page with mistakes is off, and the rest is taken. Default: they are mistakes as others. */
  readonly pageMayBeOff?: boolean;
}

const largestConfig = 1_024 * 1_024;

export const shippedRules = path.join(import.meta.dirname, "..", "..", "rules");

/** Each room's section and those of this page. What is not built is not offered: anything else is an unknown section. */
const sections = [
  "exchange",
  "timezone",
  "walletDefaults",
  "wallets",
  "signer",
  "pairs",
  "schedules",
  "history",
  "rules",
  "ruleOverrides",
  "channels",
  "routing",
  "inhibit",
  "remind",
  "advice",
  "acknowledge",
  "mention",
  "drill",
  "heartbeat",
  "digest",
  "dashboard",
  "ledger",
];

const fileSettings: readonly FileSetting[] = [
  ...secretSettings.map((key) => ({ path: ["channels", "*", ...key], secret: true })),
  // A certificate is public.
  { path: ["channels", "*", "smtp", "ca"], secret: false },
  ...walletFiles,
  { path: ["heartbeat", "url"], secret: true },
  { path: ["heartbeat", "failUrl"], secret: true },
  // Its address often holds a provider's key.
  { path: ["ledger", "rpcUrl"], secret: true },
  ...dashboardFiles,
];

/** Reads a configuration from its file. Never throws for anything that a person configured. */
export async function readSettings(
  file: string,
  env: Environment,
  how: Pick<SettingsContext, "keys" | "pageMayBeOff"> = {},
): Promise<SettingsResult> {
  const read = readTextFile(file, { largestBytes: largestConfig });
  if ("wrong" in read) {
    const fix = read.wrong === "does not exist" ? ": config.example.yaml is one to begin with" : "";
    const message = `the configuration ${read.wrong}${fix}`;
    return {
      problems: [{ file, line: 0, column: 0, path: "", message, allowed: [], nearest: null, source: "" }],
    };
  }
  const { text, exposed } = read;
  const folder = path.dirname(path.resolve(file));
  return settingsFromText(text, { file, folder, env, exposed: exposed(), ...how });
}

export function settingsFromText(text: string, context: SettingsContext): SettingsResult {
  const file = context.file ?? "configuration";
  const source = new ConfigSource({
    text,
    file,
    folder: path.resolve(context.folder),
    env: context.env,
    fileSettings: fileSettings.map((one) =>
      context.keys !== undefined && walletFiles.includes(one) ? { ...one, unread: true } : one,
    ),
    exposed: context.exposed ?? null,
  });
  if (!source.readable) return { problems: inOrder(source.problems, file) };
  source.allowSections(sections);

  const exchange = source.read(["exchange"], exchangeSettings, {});
  const timezone = readTimezone(source);
  const history = readHistory(source);
  const signer = history && readSigner(source, history.path);
  const { wallets, known } = readWallets(source, context.keys ?? ownKeys(exchange, signer));
  const { pairs, known: knownPairs } = readPairs(source, known);
  const schedules = source.read(["schedules"], scheduleSettings, {});
  const channels = readChannels(source);
  const rotas = readRotas(source, channels, timezone);
  const channelNames = source.keys(["channels"]);
  const templates = readTemplates(source, channelNames, timezone);
  const routing = source.read(["routing"], routingSettings, everywhere(channelNames));
  const inhibit = source.read(["inhibit"], inhibitSettings, []);
  const remind = source.read(["remind"], remindSettings, {});
  const advice = source.read(["advice"], adviceSettings, {});
  const acknowledge = source.read(["acknowledge"], acknowledgeSettings, {});
  const mention = source.read(["mention"], mentionSettings, {});
  const digest = readDigest(source, timezone, channelNames);
  const ledger = source.has(["ledger"]) ? source.read(["ledger"], ledgerSettings) : null;
  const drill = readDrill(source, timezone);
  const heartbeat = source.has(["heartbeat"]) ? source.read(["heartbeat"], heartbeatSettings) : null;
  const dashboard = readDashboard(source);
  const read = readRules(source, context.shippedRules ?? shippedRules, {
    // Rules are judged against the usual schedules while those of the file have mistakes.
    scheduleMs: realSchedulesMs({
      settings: schedules ?? scheduleSettings.parse({}),
      requestsPerSecond: plannedPerSecond(exchange ?? exchangeSettings.parse({})),
      wallets: wallets.map(({ key, pdaIndices }) => ({ watchOnly: key === null, pdaIndices })),
      nowMs: systemClock().nowMs(),
      streams: exchange?.streams !== "off",
    }),
    wallets: known,
    pairs: knownPairs,
    timezone,
    ...(history === undefined ? {} : { retentionMs: longestKept(history.retention) }),
  });
  const rules = "ruleSet" in read ? read : undefined;
  const referred = {
    ...{ channels: channelNames, wallets: known, ruleSet: rules?.ruleSet },
    ...("names" in read && { ruleNames: read }),
  };
  if (channelNames.length > 0) checkRouting(source, referred);
  if (acknowledge !== undefined) checkAcknowledge(source, acknowledge);
  warnOfPlainAddresses(source, channels, heartbeat);

  const pageProblems =
    context.pageMayBeOff === true ? source.problems.filter((one) => source.isIn(one, "dashboard")) : [];
  if (
    source.problems.length > pageProblems.length ||
    exchange === undefined ||
    schedules === undefined ||
    history === undefined ||
    signer === undefined ||
    routing === undefined ||
    inhibit === undefined ||
    remind === undefined ||
    advice === undefined ||
    acknowledge === undefined ||
    mention === undefined ||
    ledger === undefined ||
    drill === undefined ||
    heartbeat === undefined ||
    rules === undefined
  ) {
    return { problems: inOrder(source.problems, file) };
  }
  const settings: DaemonSettings = {
    file: context.file,
    folder: source.folder,
    exchange,
    timezone,
    wallets,
    signer,
    pairs,
    schedules,
    history,
    ruleSet: rules.ruleSet,
    ruleFiles: rules.files,
    ruleTexts: rules.texts,
    ruleSetText: rules.text,
    channels,
    rotas,
    templates,
    routing,
    inhibit,
    remind,
    advice,
    acknowledge,
    mention,
    digest,
    ledger,
    drill,
    heartbeat,
    dashboard: pageProblems.length > 0 ? null : dashboard,
  };
  const problemAt = (at: Path, message: string) => source.problemAt(at, message);
  return { settings, warnings: source.warnings, pageProblems, problemAt };
}

/** A keystore is looked at where it is this process's to read, and not opened. */
function ownKeys(exchange: ExchangeSettings | undefined, signer: SignerSettings | undefined): Keys {
  const { baseUrl, loginDomain = null } = exchange ?? exchangeSettings.parse({});
  const isOwn = signer !== undefined && signer.socket === null;
  return localKeys({
    forms: new LoginForms({ store: memoryForms(), baseUrl, domain: loginDomain }),
    keystore: () => ({
      keys: new Map(),
      closed: "the keystore is not open here",
      addresses: isOwn ? mustReadKeystore(signer.keystore).addresses : null,
    }),
  });
}

/** The settings of rules and of who is notified. */
export type JudgingSettings = Pick<DaemonSettings, "timezone" | "history" | "ruleSet" | "routing" | "remind">;

/** As much of a configuration as it takes to judge: whatever is wrong with what sends (its secrets, say) is of no matter. */
export function readJudging(
  source: ConfigSource,
): { readonly settings: JudgingSettings } | { readonly problems: readonly ConfigProblem[] } {
  const exchange = source.read(["exchange"], exchangeSettings, {}) ?? exchangeSettings.parse({});
  const timezone = readTimezone(source);
  const { wallets, known } = readWallets(source, ownKeys(exchange, undefined));
  const { known: pairs } = readPairs(source, known);
  const schedules = source.read(["schedules"], scheduleSettings, {}) ?? scheduleSettings.parse({});
  const history = readHistory(source);
  const routing = source.read(["routing"], routingSettings, everywhere(source.keys(["channels"])));
  const remind = source.read(["remind"], remindSettings, {});
  const rules = readRules(source, shippedRules, {
    scheduleMs: realSchedulesMs({
      settings: schedules,
      requestsPerSecond: plannedPerSecond(exchange),
      wallets: wallets.map(({ key, pdaIndices }) => ({ watchOnly: key === null, pdaIndices })),
      nowMs: systemClock().nowMs(),
      streams: exchange.streams !== "off",
    }),
    wallets: known,
    pairs,
    timezone,
    ...(history === undefined ? {} : { retentionMs: longestKept(history.retention) }),
  });
  if (
    history === undefined ||
    source.isBroken(["history", "path"]) ||
    routing === undefined ||
    remind === undefined ||
    "names" in rules
  )
    return { problems: inOrder(source.problems, source.file) };
  return { settings: { timezone, history, routing, remind, ruleSet: rules.ruleSet } };
}

/** Without a tree everything goes to every channel. No channel at all is a mistake of its own, told where it is. */
const everywhere = (channels: readonly string[]) => ({
  receivers: channels.length > 0 ? channels : ["none"],
});

/** The configuration first, then the files that it names, each from top to bottom. */
function inOrder(problems: readonly ConfigProblem[], first: string): ConfigProblem[] {
  const files = [first, ...new Set(problems.map((one) => one.file))];
  return [...problems].sort(
    (a, b) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line || a.column - b.column,
  );
}
