/**
 * Checks that this machine can run the daemon: the folder of the database, the socket in it, and the address of the
 * page. Nothing is changed.
 */
import { accessSync, constants, mkdtempSync, rmdirSync, statSync } from "node:fs";
import path from "node:path";
import type { ConfigProblem } from "../../daemon/settings.ts";
import { shellWord } from "../../files/index.ts";
import type { Loaded } from "../configuration.ts";
import { type DiskSpace, diskSpaceFor, spaceWarning } from "./disk-space.ts";

export interface Machine {
  /** Problems that the user has to solve, at the setting to change. */
  readonly problems: readonly ConfigProblem[];
  /** The page's address is not available now. */
  readonly address: ConfigProblem | null;
  /** A daemon of this configuration runs, even if it does not answer. */
  readonly running: boolean;
  readonly database: { readonly path: string; readonly state: DatabaseState } & Partial<DiskSpace>;
  /** The disk has little free space for the database. */
  readonly room: ConfigProblem | null;
}

/** `there`: exists. `new`: will be created, `newFolder` with its folder. */
export type DatabaseState = "there" | "new" | "newFolder";

/** Time in which a running daemon has to answer, ms. One that does not answer hangs or is very busy. */
export const answerWithinMs = 3_000;

export async function examine({ settings, problemAt }: Loaded): Promise<Machine> {
  const { askDaemon, maxPathBytes, tryAddress, foreignReason } = await import("../../web/index.ts");
  const { history, dashboard } = settings;
  const found = examineDatabase(history.path);
  const socketPath = `${history.path}.sock`;
  const problems: ConfigProblem[] = [];
  const wrong = (message: string) => void problems.push(problemAt(["history", "path"], message));
  if (typeof found !== "string") wrong(found.wrong);
  else await examineOwners(history.path, foreignReason, wrong);
  const bytes = Buffer.byteLength(socketPath);
  if (bytes > maxPathBytes)
    wrong(
      `${history.path} is too long: the socket beside it may have ${maxPathBytes} bytes in its path, and would have ` +
        `${bytes}; put the database into a folder with a shorter path`,
    );
  const signal = AbortSignal.timeout(answerWithinMs);
  const running =
    problems.length === 0 &&
    (await askDaemon({ socketPath, method: "GET", path: "/healthz", signal }).then(
      (answer) => answer.kind === "answered",
      () => signal.aborted,
    ));
  const trouble = running || dashboard === null ? null : await tryAddress(dashboard);
  const room = problems.length === 0 ? diskSpaceFor(history.path) : null;
  const short = room === null ? null : spaceWarning(room);
  const at = dashboard === null ? "" : `${dashboard.host}:${dashboard.port}`;
  return {
    problems,
    address: trouble === null ? null : problemAt(["dashboard", "listen"], `${at}: ${trouble}`),
    running,
    database: { path: history.path, state: typeof found === "string" ? found : "new", ...room },
    room: short === null ? null : problemAt(["history", "path"], short),
  };
}

/**
 * Reports a database, lock or socket that other users own or can write, and a folder in which others can replace them.
 */
async function examineOwners(
  file: string,
  foreignReason: (path: string) => string | null,
  wrong: (message: string) => void,
): Promise<void> {
  const { refuseShared, HistoryError } = await import("../../history/index.ts");
  try {
    refuseShared(file, "changeAndRead");
  } catch (error) {
    if (!(error instanceof HistoryError)) throw error;
    return wrong(error.message);
  }
  const foreign = foreignReason(`${file}.sock`);
  if (foreign !== null)
    wrong(
      `${file}.sock ${foreign}: have it removed (rm ${shellWord(`${file}.sock`)}), or choose another path`,
    );
}

function examineDatabase(file: string): DatabaseState | { readonly wrong: string } {
  const folder = path.dirname(file);
  let nearest = folder;
  try {
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat?.isDirectory() === true) return { wrong: `${file} is a folder: name a file in it` };
    while (statSync(nearest, { throwIfNoEntry: false }) === undefined) nearest = path.dirname(nearest);
    // Permissions alone do not show it: a read-only disk, a full one and /proc are only detected by trying.
    rmdirSync(mkdtempSync(path.join(nearest, ".perpwatch-")));
    if (stat === undefined) return nearest === folder ? "new" : "newFolder";
    accessSync(file, constants.R_OK | constants.W_OK);
    return "there";
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    return {
      wrong: `${whyNot(code, file, folder, nearest)} (${code}): choose another history.path, or mend that`,
    };
  }
}

function whyNot(code: string, file: string, folder: string, nearest: string): string {
  const cannotMake = `the folder ${folder} does not exist and cannot be made`;
  switch (code) {
    case "ENOTDIR":
      return `${folder}: a part of this path is a file, not a folder`;
    case "EACCES":
    case "EPERM":
      return `${nearest === folder ? file : nearest}: this user may not write there`;
    case "EROFS":
      return `${nearest === folder ? folder : cannotMake}: ${nearest} is on a read-only disk`;
    case "ENOSPC":
    case "EDQUOT":
      return `${nearest}: the disk is full`;
    default:
      return nearest === folder ? `${folder} takes no files` : `${cannotMake}: ${nearest} takes no folders`;
  }
}
