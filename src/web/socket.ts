/**
 * The Unix socket beside the database: only its owner may speak through it, and one that answers keeps a second daemon
 * away. What a dead process left is removed; what is no socket is never touched.
 *
 * Two daemons that start in the same instant could both find a dead socket and the later one take the name. The lock on
 * the database, taken before this, leaves only one of them to come here.
 */
import { chmodSync, lstatSync, type Stats, statSync, unlinkSync } from "node:fs";
import { connect, type Server } from "node:net";
import { distrust, distrustedWay, shellWord, userName } from "../files/index.ts";
import { DashboardError, errorCode } from "./errors.ts";

/** The shortest limit of the systems we run on (macOS: 104 bytes with the final zero). */
export const maxPathBytes = 103;

/**
 * Makes `server` listen at `path` with mode 0600, from the first instant on. Closing the server removes the file.
 * @throws {DashboardError} when another daemon answers there, something else stands there, or the system refuses
 */
export async function listenOnSocket(server: Server, path: string): Promise<void> {
  const bytes = Buffer.byteLength(path);
  if (bytes > maxPathBytes) {
    throw new DashboardError(
      "path-too-long",
      `${path}: the path of a socket may have ${maxPathBytes} bytes, this one has ${bytes}; put the database (history.path) into a folder with a shorter path`,
    );
  }
  await clear(path);
  await bind(server, path);
}

/**
 * Returns the reason why another user may be behind a socket, as the end of a sentence that begins with its path; null: none, or
 * nothing is there. `owner` is a user whom it may belong to beside this one and root.
 */
export function whyForeign(path: string, owner?: number): string | null {
  const wish = owner === undefined ? {} : { owner };
  const there = statSync(path, { throwIfNoEntry: false });
  if (there === undefined || !there.isSocket()) return null;
  const isOwned = distrust(path, { ...there, mode: 0 }, wish) === null;
  if (!isOwned) return `belongs to another user, ${userName(there.uid)}`;
  return distrust(path, there, wish) ?? distrustedWay(path, wish);
}

async function clear(path: string): Promise<void> {
  const there = statOf(path);
  if (!there) return;
  const foreign = whyForeign(path);
  if (foreign !== null)
    throw new DashboardError(
      "not-trusted",
      `${path} is in the way: it ${foreign}; have it removed (rm ${shellWord(path)}), or choose another history.path`,
    );
  if (!there.isSocket()) {
    throw new DashboardError(
      "not-a-socket",
      `${path} is in the way: the daemon's socket belongs there, and this is something else; move it away`,
    );
  }
  const answer = await knock(path);
  if (answer === "alive") {
    throw new DashboardError(
      "daemon-running",
      `${path}: another perpwatch answers here; stop it first, or give this one another history.path`,
    );
  }
  if (answer === "dead") unlinkSync(path);
  else if (answer !== "gone") {
    throw new DashboardError("io", `${path}: cannot tell whether a daemon is behind this socket (${answer})`);
  }
}

type Answer = "alive" | "dead" | "gone" | (string & {});

function knock(path: string): Promise<Answer> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve("alive");
    });
    socket.once("error", (error) => {
      const code = errorCode(error);
      // A full queue of connections is a daemon that is busy.
      if (code === "EAGAIN") resolve("alive");
      else resolve(code === "ECONNREFUSED" ? "dead" : code === "ENOENT" ? "gone" : code || "unknown error");
    });
  });
}

async function bind(server: Server, path: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const failed = (error: Error) => {
      server.removeListener("listening", listening);
      reject(
        new DashboardError(
          "io",
          `${path}: the socket cannot be opened (${errorCode(error) || error.message})`,
          {
            cause: error,
          },
        ),
      );
    };
    const listening = () => {
      server.removeListener("error", failed);
      resolve();
    };
    server.once("error", failed);
    server.once("listening", listening);
    // Binding happens inside listen(), so that the mask covers it and nothing else of ours.
    const mask = process.umask(0o177);
    try {
      server.listen({ path });
    } finally {
      process.umask(mask);
    }
  });
  chmodSync(path, 0o600);
}

function statOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}
