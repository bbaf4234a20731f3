/**
 * Reads config.yaml for commands: completely, with all mistakes; or only what is needed to find the daemon, so that
 * `status` works while a rule has a mistake, and in a shell without the daemon's secrets.
 */
import { existsSync } from "node:fs";
import path from "node:path";
import type { FileSetting, TextFileLimits } from "../config/index.ts";
import type { KnownWallet, ReadWallets } from "../daemon/settings/wallets.ts";
import type {
  ConfigProblem,
  DaemonSettings,
  JudgingSettings,
  SettingsContext,
  SettingsResult,
} from "../daemon/settings.ts";
import type { Keys } from "../signer/keys.ts";
import { type Cli, CommandFailed, defaultConfig, hint } from "./command.ts";
import { findDemo } from "./start/demo-place.ts";
import { commandLineOf } from "./terminal/command-line.ts";

/** Maximum size of a configuration, bytes. */
const maxConfigBytes = 1_024 * 1_024;

export type Loaded = Extract<SettingsResult, { readonly settings: DaemonSettings }>;

/**
 * @param keys the wallets' signers; default: key files are read here
 * @throws {CommandFailed} status 2, with every mistake
 */
export async function loadOwn(
  cli: Cli,
  file: string,
  keys?: Keys,
  how: Pick<SettingsContext, "pageMayBeOff"> = {},
): Promise<Loaded> {
  mustExist(file);
  const { readSettings } = await import("../daemon/settings.ts");
  const result = await readSettings(file, cli.env, { ...how, ...(keys === undefined ? {} : { keys }) });
  if ("settings" in result) return result;
  throw await misconfigured(result.problems);
}

export async function misconfigured(problems: readonly ConfigProblem[]): Promise<CommandFailed> {
  const { formatConfigProblem } = await import("../config/index.ts");
  const count = problems.length === 1 ? "1 mistake" : `${problems.length} mistakes`;
  const text = problems.map(formatConfigProblem).join("\n");
  const error = `${count} in the configuration`;
  return new CommandFailed(`${error}\n${text}`, 2, { ok: false, error, problems });
}

/** The paths and names by which commands reach a configuration's daemon. */
export interface Place {
  readonly databasePath: string;
  readonly socketPath: string;
  /** For root: the owner of the configuration, who may run the daemon. */
  readonly ownerUid?: number;
  /** IANA name. */
  readonly timezone: string;
  /** The command that starts the daemon, for messages. */
  readonly startWith: string;
}

/** @throws {CommandFailed} status 2 when the file or its `history:` cannot be read; other mistakes are ignored */
export async function locate(cli: Cli, file: string): Promise<Place> {
  const { readHistory, readTimezone } = await import("../daemon/settings/sections.ts");
  const { isRoot } = await import("../files/index.ts");
  // Root uses the configuration only to find the daemon.
  const { source, ownerUid } = await openFile(cli, orDemo(cli, file), isRoot() ? { owner: "any" } : {});
  const timezone = readTimezone(source);
  const history = readHistory(source);
  if (history === undefined || source.isBroken(["history", "path"]))
    throw await misconfigured(source.problems.filter((one) => one.path.startsWith("history")));
  const startWith = commandLineOf(cli, file === defaultConfig ? null : file)("start");
  const place = { databasePath: history.path, socketPath: `${history.path}.sock`, timezone, startWith };
  return isRoot() ? { ...place, ownerUid } : place;
}

/** The wallets of a configuration as rules can name them; none where they cannot be read. */
export async function knownWallets(cli: Cli, file: string): Promise<readonly KnownWallet[]> {
  return (await walletsIn(cli, file)).known;
}

/**
 * The wallets of a configuration, and all names.
 * @param keys default: only wallets whose address is in the configuration, without their keys
 */
export async function walletsIn(cli: Cli, file: string, keys?: Keys): Promise<ReadWallets> {
  const [{ readWallets }, { unreadKeys }] = await Promise.all([
    import("../daemon/settings/wallets.ts"),
    import("../signer/keys.ts"),
  ]);
  return readWallets(await openSource(cli, orDemo(cli, file)), keys ?? unreadKeys);
}

/**
 * The exchange and the wallets of a configuration, for commands that read from the exchange: mistakes elsewhere are
 * ignored.
 * @param keys the wallets' signers; null: no wallet is read
 * @throws {CommandFailed} status 2, with every mistake in the two sections
 */
export async function exchangePart(
  cli: Cli,
  file: string,
  keys: Keys | null,
): Promise<Pick<DaemonSettings, "exchange" | "wallets">> {
  const [{ readWallets }, { exchangeSettings }] = await Promise.all([
    import("../daemon/settings/wallets.ts"),
    import("../exchange/settings.ts"),
  ]);
  const source = await openSource(cli, orDemo(cli, file));
  const exchange = source.read(["exchange"], exchangeSettings, {});
  const wallets = keys === null ? [] : readWallets(source, keys).wallets;
  const problems = source.problems.filter(({ path: at }) => /^(exchange|wallets|walletDefaults)\b/.test(at));
  if (exchange === undefined || problems.length > 0) throw await misconfigured(problems);
  return { exchange, wallets };
}

/**
 * A configuration with the files that its wallets name, for a signer.
 * @param known its text, if it was read before; default: the file is read
 * @throws {CommandFailed} status 2
 */
export async function signingSource(cli: Pick<Cli, "env">, file: string, known?: string) {
  const { walletFiles } = await import("../daemon/settings/wallets.ts");
  const text = known ?? (await readConfig(file)).text;
  return { source: await sourceOf(cli, file, text, walletFiles), text };
}

/**
 * The settings that a signer needs, and their source.
 * @throws {CommandFailed} status 2
 */
export async function signingPart(cli: Pick<Cli, "env">, file: string, known?: string) {
  const { readSigningPart } = await import("../daemon/settings/signer.ts");
  const { source, text } = await signingSource(cli, file, known);
  const part = readSigningPart(source);
  if ("problems" in part) throw await misconfigured(part.problems);
  return { source, part, text };
}

/**
 * The socket of a separate signer; null: there is none.
 * @throws {CommandFailed} status 2
 */
export async function signerSocket(cli: Cli, file: string): Promise<string | null> {
  const [{ readSigner }, { readHistory }] = await Promise.all([
    import("../daemon/settings/signer.ts"),
    import("../daemon/settings/sections.ts"),
  ]);
  const source = await openSource(cli, file);
  const history = readHistory(source);
  const signer = history && readSigner(source, history.path);
  if (signer === undefined) throw await misconfigured(source.problems);
  return signer.socket;
}

/**
 * The rules and receivers of a configuration, for commands that send nothing: secrets of channels, which this shell may
 * lack, are ignored.
 * @throws {CommandFailed} status 2, with every other mistake
 */
export async function judgingPart(cli: Cli, file: string): Promise<JudgingSettings> {
  const { readJudging } = await import("../daemon/settings.ts");
  const source = await openSource(cli, orDemo(cli, file));
  const read = readJudging(source);
  if ("settings" in read) return read.settings;
  throw await misconfigured(read.problems);
}

/**
 * The plans of the rotas of a configuration, by name: mistakes elsewhere are ignored.
 * @throws {CommandFailed} status 2, with every mistake in a rota
 */
export async function rotaPlans(cli: Cli, file: string): Promise<DaemonSettings["rotas"]> {
  const [{ readTimezone }, { readRotas }, { channelSettings }] = await Promise.all([
    import("../daemon/settings/sections.ts"),
    import("../daemon/settings/rotas.ts"),
    import("../channels/registry.ts"),
  ]);
  const source = await openSource(cli, orDemo(cli, file));
  const names = source.keys(["channels"]).filter((name) => source.raw(["channels", name, "type"]) === "rota");
  const channels = Object.fromEntries(
    names.flatMap((name) => {
      const settings = source.read(["channels", name], channelSettings);
      return settings === undefined ? [] : [[name, settings]];
    }),
  );
  const plans = readRotas(source, channels, readTimezone(source));
  const isOfRota = ({ file: at, path: of }: ConfigProblem) =>
    at !== file || names.some((name) => of === `channels.${name}` || of.startsWith(`channels.${name}.`));
  const problems = source.problems.filter(isOfRota);
  if (problems.length > 0) throw await misconfigured(problems);
  return plans;
}

/** Returns true if there is a configuration of this name, or a demo's. */
export function hasConfiguration(cli: Cli, file: string): boolean {
  return existsSync(orDemo(cli, file));
}

/** Commands that have already reported that they use the demo's configuration. */
const demoReported = new WeakSet<Cli>();

export function orDemo(cli: Cli, file: string): string {
  if (file !== defaultConfig || existsSync(file)) return file;
  const demo = findDemo();
  if (demo === null) return file;
  if (!demoReported.has(cli))
    hint(cli, "there is no config.yaml here; this is about the demo that was started in this folder");
  demoReported.add(cli);
  return demo;
}

function mustExist(file: string): void {
  if (existsSync(file)) return;
  const fix =
    "begin with `install -m 600 config.example.yaml config.yaml`, or name another file with --config";
  throw new CommandFailed(`${file}: there is no such configuration; ${fix}`, 2);
}

async function openSource(cli: Pick<Cli, "env">, file: string) {
  return (await openFile(cli, file)).source;
}

async function openFile(cli: Pick<Cli, "env">, file: string, owner: Pick<TextFileLimits, "owner"> = {}) {
  const { text, ownerUid } = await readConfig(file, owner);
  return { source: await sourceOf(cli, file, text), ownerUid };
}

/** @throws {CommandFailed} status 2 */
async function readConfig(file: string, owner: Pick<TextFileLimits, "owner"> = {}) {
  mustExist(file);
  const { readTextFile } = await import("../config/index.ts");
  const read = readTextFile(file, { largestBytes: maxConfigBytes, ...owner });
  if ("wrong" in read) throw new CommandFailed(`${file}: the configuration ${read.wrong}`, 2);
  return read;
}

/** @param files settings whose value can be in a file */
async function sourceOf(
  cli: Pick<Cli, "env">,
  file: string,
  text: string,
  files: readonly FileSetting[] = [],
) {
  const { ConfigSource } = await import("../config/index.ts");
  const folder = path.dirname(path.resolve(file));
  const source = new ConfigSource({ text, file, folder, env: cli.env, fileSettings: files });
  if (!source.readable) throw await misconfigured(source.problems);
  return source;
}
