/** `perpwatch simulate`: the simulated exchange as a server, for trials. */
import path from "node:path";
import type { Command } from "commander";
import { type Cli, CommandFailed, declare } from "../command.ts";
import { onLauncherEnd } from "../start/launcher.ts";
import { integerFrom, numberFrom, oneOf } from "../terminal/values.ts";
import { controlCallsHelp } from "./simulate-calls.ts";

export function simulateCommand(program: Command, cli: Cli): void {
  declare(program, {
    usage: "simulate",
    summary: "run the simulated exchange as a server",
    about:
      "Prints one JSON line when it is ready: its URL and its traders, with their key files. The same seed and the same\n" +
      "calls give the same world. Control calls under /sim/ move prices, shape accounts and make requests fail. A small\n" +
      "ledger of its own answers JSON-RPC under /rpc, for onboarding (referral code EXAMPLE) and stop losses.\n\n" +
      "Nothing outlives it: a restart makes a new world, with new first deposits and entry prices, in which the wallets of\n" +
      "one --seed are the same again. A daemon that watched the old world takes the difference for real changes:\n" +
      "start it with a new database (history.path) as well.",
    examples: ["simulate --traders 3 --keys-dir ./keys", "simulate --port 0 --seed 7 --speed 0 --walk off"],
    needsNoConfig: true,
  })
    .addHelpText("after", () => `\n${controlCallsHelp()}`)
    .option("--port <port>", "where to listen; 0: a free port", integerFrom(0, 65_535), 8_899)
    .option(
      "--host <address>",
      "address to listen on; control calls are served on loopback only",
      "127.0.0.1",
    )
    .option("--seed <n>", "which world: another one has other wallets", integerFrom(0, 2 ** 32 - 1), 1)
    .option(
      "--speed <factor>",
      "simulated seconds a second; 0: time moves by control calls only",
      numberFrom(0, 10_000),
      1,
    )
    .option("--traders <n>", "how many traders live in it", integerFrom(0, 10_000), 10)
    .option(
      "--markets <symbols>",
      "list these too, with commas: PUMP (one base lot is 100 units), TSLA (an equity)",
    )
    .option("--keys-dir <folder>", "write the traders' key files there (mode 0600)")
    .option("--scenario <file>", "YAML: a list of { at: 10s, call: mark-price, with: {…} }")
    .option(
      "--observed <on|off>",
      "off: answers in the forms of the contract, not in those seen at the live exchange",
      oneOf(["on", "off"]),
      "on",
    )
    .option(
      "--walk <on|off>",
      "off: prices and traders move by control calls and the scenario only",
      oneOf(["on", "off"]),
      "on",
    )
    .option("--requests-per-second <n>", "refuse more with 429", numberFrom(0.001, 1e6))
    .option("--access-ttl <seconds>", "lifetime of access tokens", numberFrom(0.001, 1e9))
    .option("--refresh-ttl <seconds>", "lifetime of refresh tokens", numberFrom(0.001, 1e9))
    .action(async (options: Record<string, unknown>) => {
      const { config: _config, json: _json, ...settings } = options;
      await simulate(cli, settings);
    });
}

async function simulate(cli: Cli, settings: Readonly<Record<string, unknown>>): Promise<void> {
  if (typeof settings.keysDir === "string") await makeKeysFolder(settings.keysDir);
  const { BadSettings, runSimulator } = await import("../../simulator/index.ts");
  const stopped = new Promise<void>((resolve) => {
    // The terminal and the launcher may both forward Ctrl-C.
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => resolve());
    onLauncherEnd(resolve);
  });
  const { addressTrouble } = await import("../../web/address.ts");
  const simulator = await runSimulator(settings, cli.out, cli.err).catch((error: unknown) => {
    if (error instanceof BadSettings) throw new CommandFailed(error.message, 2, { problems: error.problems });
    if (!(error instanceof Error && "syscall" in error && error.syscall === "listen")) throw error;
    throw new CommandFailed(`${settings.host}:${settings.port}: ${addressTrouble(error, "--port")}`);
  });
  await stopped;
  await simulator.stop();
}

async function makeKeysFolder(folder: string): Promise<void> {
  const { makeFolder } = await import("../../history/folder.ts");
  try {
    makeFolder(path.resolve(folder));
  } catch (error) {
    throw new CommandFailed(`--keys-dir ${folder} cannot be made: ${(error as Error).message}`, 2);
  }
}
