/** `perpwatch wallet`: key files and the keystore, and the sessions of the configured wallets. */
import path from "node:path";
import { type Command, Option } from "commander";
import type { DaemonSettings } from "../../daemon/settings.ts";
import type { DaemonStatus } from "../../domain/status.ts";
import {
  type Cli,
  CommandFailed,
  type CommonOptions,
  declare,
  declareGroup,
  print,
  printJson,
} from "../command.ts";
import { locate } from "../configuration.ts";
import { ask, askAbout, unknownName } from "../daemon.ts";
import { loadSettings } from "../load-settings.ts";
import { counted, paintFor } from "../terminal/print.ts";
import { table } from "../terminal/table.ts";
import type { Present } from "./wallet-keystore.ts";
import type { TrustOptions } from "./wallet-trust.ts";

/** Maximum duration of a sign-in. */
const patienceMs = 20_000;

export function walletCommand(program: Command, cli: Cli): void {
  const group = declareGroup(program, "wallet", "key files, and sessions of the configured wallets", [
    "wallet new ./keys/main.json",
    "wallet list",
  ]);
  declare(group, {
    usage: "new [file]",
    summary: "make a new wallet, and keep its key in the keystore or in a file that only you can read",
    about:
      "Without a file the key goes into the keystore (signer.keystore of the configuration), which is made where there is\n" +
      "none. A file is a 64-byte JSON keypair; it is never overwritten. It is the only copy: keep a backup.",
    examples: ["wallet new", "wallet new ./keys/main.json"],
  })
    .addOption(nameOption())
    .action(async (file: string | undefined, options: NamedOptions) => {
      await checkName(cli, options);
      if (file === undefined) {
        const [{ addToKeystore }, { newKey }] = await Promise.all([
          import("./wallet-keystore.ts"),
          import("../../wallet/keypair-file.ts"),
        ]);
        return addToKeystore(cli, options, newKey());
      }
      const { newKeypairFile } = await import("../../wallet/keypair-file.ts");
      await folderFor(file);
      tellNew(cli, options, file, newKeypairFile(file).address);
    });
  declare(group, {
    usage: "import [file]",
    summary:
      "keep a secret that you have (JSON keypair, or base58 of it or of its seed) in the keystore or in a file that only you can read",
    about:
      "The secret is read from standard input, without showing it on a terminal; as an argument, everybody on this\n" +
      "machine could see it. Without a file it goes into the keystore (signer.keystore of the configuration), which is made\n" +
      "where there is none.",
    examples: ["wallet import < exported.txt", "wallet import ./keys/main.json < exported.txt"],
  })
    .addOption(nameOption())
    .action(async (file: string | undefined, options: NamedOptions) => {
      await checkName(cli, options);
      const secret = await readSecret(cli);
      if (file === undefined) {
        const [{ addToKeystore }, { walletKeyFromText }] = await Promise.all([
          import("./wallet-keystore.ts"),
          import("../../wallet/wallet-key.ts"),
        ]);
        await addToKeystore(cli, options, walletKeyFromText(secret));
      } else {
        const [{ importKeypairFile }, { present }] = await Promise.all([
          import("../../wallet/keypair-file.ts"),
          import("./wallet-keystore.ts"),
        ]);
        await folderFor(file);
        const { address } = importKeypairFile(file, secret);
        const places = await present(cli, options, address);
        if (places.keystore !== null || places.configured !== null)
          await warnOfCopy(cli, options, file, address, places);
        else tellNew(cli, options, file, address);
      }
      if (mayBeAddress(secret))
        cli.err.write(
          "note: this has the length of a seed and of an address, and was taken as the seed of the wallet above. If it is the\n" +
            `address of a wallet that you want to watch without its key, ${file === undefined ? "" : `remove ${file} and `}name it by authority: in config.yaml.\n`,
        );
    });
  declare(group, {
    usage: "export <address> <file>",
    summary: "write a key of the keystore into a key file that only you can read",
    examples: ["wallet export 7Np41oeYqPefeNQEHSv1UDhYrehxin3NStELsSKCT4K2 ./keys/main.json"],
  }).action(async (address: string, file: string, options: CommonOptions) => {
    const { exportFromKeystore } = await import("./wallet-keystore.ts");
    await exportFromKeystore(cli, options, address, file);
  });
  declare(group, {
    usage: "passphrase",
    summary: "seal the keystore with another passphrase",
    about:
      "The present one comes from signer.passphraseFile, from the credential perpwatch-passphrase of the service manager, or\n" +
      "is asked for; the new one is asked for twice, or read from --new-file.",
    examples: ["wallet passphrase", "wallet passphrase --new-file ./passphrase"],
  })
    .option("--new-file <file>", "read the new passphrase from this file")
    .action(async (options: CommonOptions & { readonly newFile?: string }) => {
      const { changePassphrase } = await import("./wallet-keystore.ts");
      await changePassphrase(cli, options);
    });
  declare(group, {
    usage: "list",
    summary: "list the configured wallets and whether they are signed in",
    examples: ["wallet list", "wallet list --json"],
  }).action((options: CommonOptions) => list(cli, options));
  declare(group, {
    usage: "trust",
    summary: "show the form of login text that wallets sign, and accept another one that was refused",
    about:
      "The form that is seen first is trusted, unless it names another site than the exchange or speaks of more than a login.\n" +
      "Any other form is refused for all wallets, with one alert. Accept one only if it asks for a login to the exchange and\n" +
      "nothing else.",
    examples: ["wallet trust", "wallet trust --accept IDENTIFIER"],
  })
    .addOption(
      new Option(
        "--accept <id>",
        "accept without asking the form of this identifier, which was shown",
      ).conflicts("yes"),
    )
    .option("--yes", "accept without asking all that was refused, whatever it is by now")
    .action(async (options: TrustOptions) => {
      const { trust } = await import("./wallet-trust.ts");
      await trust(cli, options);
    });
  for (const act of ["login", "logout"] as const) {
    declare(group, {
      usage: `${act} <name>`,
      summary:
        act === "login"
          ? "sign a wallet in anew, whatever session it has"
          : "revoke a wallet's session and forget it; the daemon signs it in again at its next start",
      examples: [`wallet ${act} main`],
    }).action((name: string, options: CommonOptions) => session(cli, act, name, options));
  }
}

/** Base58 of 32 bytes has at most 44 characters, of the 64 bytes of a keypair at least 64. */
function mayBeAddress(secret: string): boolean {
  const text = secret.trim();
  return !text.startsWith("[") && text.length <= 44;
}

async function folderFor(file: string): Promise<void> {
  const { makeFolder } = await import("../../history/folder.ts");
  makeFolder(path.dirname(path.resolve(file)));
}

interface NamedOptions extends CommonOptions {
  readonly name?: string;
}

const nameOption = () =>
  new Option("--name <name>", "the wallet's name in the lines for the configuration that are printed");

async function checkName(cli: Cli, options: NamedOptions): Promise<void> {
  if (options.name === undefined) return;
  const { mustBeFree } = await import("./wallet-keystore.ts");
  await mustBeFree(cli, options, options.name);
}

function tellNew(cli: Cli, options: NamedOptions, file: string, authority: string): void {
  if (options.json) {
    printJson(cli, { keyFile: file, authority });
    return;
  }
  const name = options.name ?? path.basename(file).replace(/\.[^.]*$/, "");
  print(
    cli,
    `${authority}\n\nThe key is in ${file}; only you can read it. To watch it, add to config.yaml:\n`,
  );
  print(cli, `wallets:\n  - { name: ${name}, keyFile: ${file} }`);
}

/** Warns that the configuration or its keystore already has a copy of the key. */
async function warnOfCopy(
  cli: Cli,
  options: NamedOptions,
  file: string,
  authority: string,
  { keystore, configured }: Present,
): Promise<void> {
  const { shownConfigured } = await import("./wallet-keystore.ts");
  if (options.json) return printJson(cli, { keyFile: file, authority, wallet: configured?.name ?? null });
  print(cli, `${authority}\n\nThe key is in ${file}; only you can read it.`);
  if (keystore !== null) print(cli, `${keystore} has this key already: ${file} is a second copy.`);
  if (configured !== null) print(cli, shownConfigured(configured));
}

async function readSecret(cli: Cli): Promise<string> {
  const { hiddenLines } = await import("../terminal/hidden-input.ts");
  return (await hiddenLines(cli, ["Secret (JSON keypair or base58; it is not shown): "])).join("\n");
}

/** Places of keys for people. */
const keyPlaceNames = {
  keyFile: "in a key file",
  keystore: "in the keystore",
  secret: "in the configuration",
} as const;

async function list(cli: Cli, options: CommonOptions): Promise<void> {
  const { settings } = await loadSettings(cli, options.config);
  const answer = await ask<DaemonStatus>(await locate(cli, options.config), "GET", "/api/v1/status");
  const known = answer.kind === "answered" ? answer.body.watch.wallets : [];
  const wallets = settings.wallets.map(({ name, authority, key, keptIn, login, pdaIndices, labels }) => {
    const seen = known.find((wallet) => wallet.name === name);
    const watchOnly = key === null;
    const session = watchOnly
      ? "none needed"
      : answer.kind === "noDaemon"
        ? "the daemon is not running"
        : (seen?.sessionDetail ?? "not known to the running daemon");
    return {
      name,
      authority,
      watchOnly,
      keptIn,
      login: watchOnly ? null : login,
      pdaIndices,
      labels,
      signedIn: seen?.signedIn ?? null,
      session,
    };
  });
  if (options.json) return printJson(cli, { running: answer.kind === "answered", wallets });
  const paint = paintFor(cli.out);
  // The column is shown only if a wallet has other accounts than the first.
  const hasAccounts = wallets.some(({ pdaIndices }) => pdaIndices.join() !== "0");
  const rows = wallets.map(({ name, authority, watchOnly, keptIn, pdaIndices, signedIn, session }) => [
    name,
    authority,
    keptIn === null ? "none: watch-only" : keyPlaceNames[keptIn],
    ...(hasAccounts ? [pdaIndices.join(", ")] : []),
    signedIn === null || watchOnly ? session : paint(signedIn ? "green" : "red", session),
  ]);
  const titles = ["name", "authority", "key", ...(hasAccounts ? ["accounts"] : []), "session"];
  print(cli, table(titles, rows, paint));
  print(cli, `\n${counted(wallets.length, "wallet")}`);
}

async function session(
  cli: Cli,
  act: "login" | "logout",
  name: string,
  options: CommonOptions,
): Promise<void> {
  const place = await locate(cli, options.config);
  const path = `/api/v1/wallets/${encodeURIComponent(name)}/${act}`;
  const answer = await askAbout(place, "wallet", name, ask<{ detail: string }>(place, "POST", path, {}));
  const detail =
    answer.kind === "answered" ? answer.body.detail : await withoutDaemon(cli, act, name, options);
  if (options.json) printJson(cli, { wallet: name, result: "done", detail });
  else print(cli, `${name}: ${detail}`);
}

/**
 * Without a daemon the stored session is changed here, under the lock that prevents a daemon from starting meanwhile.
 */
async function withoutDaemon(
  cli: Cli,
  act: "login" | "logout",
  name: string,
  options: CommonOptions,
): Promise<string> {
  const { withSigning } = await import("./signing.ts");
  return withSigning(cli, options.config, {}, async (signing) =>
    inStore(act, name, (await signing.load()).settings),
  );
}

async function inStore(act: "login" | "logout", name: string, settings: DaemonSettings): Promise<string> {
  const wallet = settings.wallets.find((one) => one.name === name);
  if (!wallet)
    throw unknownName(
      "wallet",
      name,
      settings.wallets.map((one) => one.name),
    );
  if (wallet.key === null)
    throw new CommandFailed(`${name} has no key here, so it has no session: it is only watched`);
  const { openStore } = await import("../../history/index.ts");
  const { withExchange } = await import("../standalone.ts");
  const store = openStore({ path: settings.history.path });
  try {
    return await withExchange(settings, store, async (exchange) => {
      const session = exchange.sessions.of(name)!;
      if (act === "logout") {
        await session.logout();
        return "signed out";
      }
      await session.login({ endMs: performance.now() + patienceMs });
      return `signed in by ${wallet.login}; the daemon goes on with this session`;
    });
  } finally {
    await store.close();
  }
}
