/** `perpwatch signer`: holds the keys of wallets, checks requests of the daemon and other commands, and signs them. */
import { existsSync, lstatSync, unlinkSync } from "node:fs";
import { createServer, Socket } from "node:net";
import type { Command } from "commander";
import { Option } from "commander";
import { systemClock } from "../../domain/clock.ts";
import { type Cli, CommandFailed, type CommonOptions, declare } from "../command.ts";
import { signingPart } from "../configuration.ts";

/** Prefixes of its lines, by which the daemon that reads them recognizes warnings. */
export const linePrefixes = { signer: "signer: ", warning: "warning: " };

interface SignerOptions extends CommonOptions {
  readonly socket?: string;
  readonly stream?: number;
  readonly feePayer?: string;
  readonly ask?: boolean;
  readonly loginsOnly?: boolean;
  readonly elsewhere?: string;
}

export function signerCommand(program: Command, cli: Cli): void {
  declare(program, {
    usage: "signer",
    summary: "hold the keys of wallets, and sign what the daemon asks for after checking it",
    about:
      "The daemon and every command that signs start one by themselves; run it on your own only where it has a user of its own.\n" +
      "The configuration then names its socket: signer: { socket: PATH }. Whoever may write to the socket can ask for\n" +
      "signatures, so keep it in a folder that only the daemon's group may enter. It signs logins in the trusted form\n" +
      "(wallet trust), onboardings and stop losses, nothing else, and writes a line for each into signatures.log.\n" +
      "The passphrase of the keystore comes from signer.passphraseFile, from the credential perpwatch-passphrase of the\n" +
      "service manager, or is asked for on the terminal.",
    examples: ["signer --config /etc/perpwatch/config.yaml --socket /run/perpwatch-signer/signer.sock"],
  })
    .option("--socket <path>", "listen here; signer.socket of the configuration when left out")
    .addOption(new Option("--stream <fd>", "serve this open stream alone").argParser(Number).hideHelp())
    .addOption(new Option("--fee-payer <file>", "hold this key file alone").hideHelp())
    .addOption(new Option("--logins-only", "sign logins alone").hideHelp())
    .addOption(new Option("--elsewhere <url>", "the exchange, in place of the configured one").hideHelp())
    .addOption(new Option("--ask", "ask for the passphrase on the terminal").hideHelp())
    .action((options: SignerOptions) => signer(cli, options));
}

async function signer(cli: Cli, options: SignerOptions): Promise<void> {
  const [{ signerHost }, { askOnce, passphraseFrom }, { serve }, { signingPace }, { reloadCommand }] =
    await Promise.all([
      import("./signer-host.ts"),
      import("./passphrase.ts"),
      import("../../signer/serve.ts"),
      import("../../signer/pace.ts"),
      import("../reload-act.ts"),
    ]);
  const isOwn = options.stream === undefined;
  const mayAsk = isOwn || options.ask === true;
  const asked = askOnce();
  const tell = (line: string) => cli.err.write(`perpwatch ${linePrefixes.signer}${line}\n`);
  const warn = (line: string) => tell(`${linePrefixes.warning}${line}`);
  const clock = systemClock();
  const holder = signerHost({
    config: options.config,
    env: cli.env,
    clock,
    feePayer: options.feePayer ?? null,
    elsewhere: options.elsewhere ?? null,
    loginsOnly: options.loginsOnly === true,
    loadsBy: isOwn ? `${reloadCommand(process.pid)}, or a start of the daemon` : "a start of the daemon",
    ...{ tell, warn },
    passphrase({ passphraseFile, keystore }, opens) {
      const given = passphraseFrom(passphraseFile, cli.env);
      return given !== null || !mayAsk ? given : asked(`Passphrase of ${keystore}: `, opens);
    },
  });
  const mayAskFor = signingPace(() => clock.elapsedMs());
  if (!isOwn) {
    await serveStream(options.stream!, (stream) => serve(stream, holder, mayAskFor));
    return holder.end();
  }
  const { part } = await signingPart(cli, options.config);
  const path = options.socket ?? part.signer.socket;
  if (path === null)
    throw new CommandFailed("say where to listen: --socket PATH, or signer.socket in the configuration", 2);
  const load = async () => {
    const { keys, closed, asBefore } = await holder.loadByItself();
    for (const one of keys) if ("problem" in one) warn(`${one.reference}: ${one.problem}`);
    if (closed !== "") warn(closed);
    const count = keys.filter((one) => "address" in one).length;
    const more =
      asBefore.length === 0
        ? ""
        : `; the configuration has mistakes, so it signs as before for ${asBefore.join(", ")}`;
    return `holds ${count === 1 ? "1 key" : `${count} keys`}${more}`;
  };
  const held = await load();
  process.on("SIGHUP", () => {
    load().then(
      (text) => tell(`SIGHUP: loaded ${options.config}, ${text}`),
      (error) =>
        warn(`SIGHUP: ${options.config} is not loaded: ${error instanceof Error ? error.message : error}`),
    );
  });
  const { connectionLimit } = await import("../../signer/connection-limit.ts");
  const admit = connectionLimit(() => clock.elapsedMs());
  await listen(
    path,
    (stream) => {
      const onRequest = admit(stream);
      if (onRequest !== null) serve(stream, holder, mayAskFor, onRequest);
    },
    () => tell(`${held}, listens at ${path}`),
    (error) => warn(`the socket failed: ${error.message}`),
  );
  holder.end();
}

/** Serves until the other end is closed: the signals of a terminal are for that process. */
function serveStream(fd: number, begin: (stream: Socket) => void): Promise<void> {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  return new Promise((resolve) => {
    const stream = new Socket({ fd });
    stream.once("close", () => resolve());
    begin(stream);
  });
}

/**
 * Listens until SIGTERM or SIGINT.
 * @param onError called at later errors, after which it still listens
 */
async function listen(
  path: string,
  begin: (stream: Socket) => void,
  onListening: () => void,
  onError: (error: Error) => void,
): Promise<void> {
  if (existsSync(path)) await removeLeftOver(path);
  const server = createServer(begin);
  // The daemon's group may write; the folder's mode restricts access.
  const mask = process.umask(0o117);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(path, resolve);
    });
    server.removeAllListeners("error").on("error", onError);
  } finally {
    process.umask(mask);
  }
  onListening();
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
  server.close();
}

/** @throws {CommandFailed} when another process listens there, or it is something other than a stale socket */
async function removeLeftOver(path: string): Promise<void> {
  if (!lstatSync(path).isSocket()) throw new CommandFailed(`${path}: is no socket, and is not replaced`);
  const failure = await new Promise<string | null>((resolve) => {
    const probe = new Socket();
    probe.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "unknown error"));
    probe.connect(path, () => {
      probe.destroy();
      resolve(null);
    });
  });
  if (failure === null) throw new CommandFailed(`${path}: another signer listens there already`);
  if (failure !== "ECONNREFUSED") throw new CommandFailed(`${path}: cannot be connected to (${failure})`);
  unlinkSync(path);
}
