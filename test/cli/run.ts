/** The command line as people meet it: a process in a folder, to its end. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** What stands on stdout, parsed. */
  json(): unknown;
}

export interface RunOptions {
  readonly folder?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

export function run(
  args: readonly string[],
  { folder, env = {}, input = "" }: RunOptions = {},
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [main, ...args], {
      cwd: folder ?? tmpdir(),
      env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "", TZ: "UTC", ...env },
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    // A command that reads nothing may be gone before we have written.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    child.once("error", reject);
    child.once("close", (status) =>
      resolve({ status, stdout, stderr, json: () => JSON.parse(stdout) as unknown }),
    );
  });
}

export interface Desk extends Disposable {
  readonly folder: string;
  /** Writes a file below the folder. */
  write(name: string, text: string, mode?: number): string;
}

/** A folder of its own, removed at the end of the scope. */
export function desk(): Desk {
  const folder = mkdtempSync(path.join(tmpdir(), "perpwatch-cli-"));
  return {
    folder,
    write(name, text, mode = 0o600) {
      const file = path.join(folder, name);
      writeFileSync(file, text, { mode });
      return file;
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** A configuration that is right and asks nobody anything. */
export const plainConfig = `
wallets:
  - { name: main, authority: 8Xk4b2nUo7QwqVf3mT1pZr6cYh5dLs9eJg2aNu4iRt7K }
channels: { here: { type: console } }
history: { path: ./perpwatch }
dashboard: { listen: off }
`;
