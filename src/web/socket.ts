/**
 * The Unix socket beside the database. Only its owner may use it, and a socket that answers prevents a second daemon.
 * The socket of a dead process is removed; a file that is not a socket is never touched.
 *
 * Two daemons that start at the same instant could both find a dead socket, and the later one would take its path. The
 * lock on the database, which is taken before, prevents this.
 */
import { chmodSync, lstatSync, statSync, unlinkSync } from "node:fs";
import { connect, type Server } from "node:net";
import { distrust, distrustedWay, shellWord, userName } from "../files/index.ts";
import { DashboardError, errorCode } from "./errors.ts";

/** Shortest limit of the supported systems (macOS: 104 bytes with the final zero). */
export const maxPathBytes = 103;

/**
 * Makes `server` listen at `path`, with mode 0600 from the start. Closing the server removes the file.
 * @throws {DashboardError} if another daemon answers there, another file is there, or the system refuses
 */
export async function listenOnSocket(server: Server, path: string): Promise<void> {
  const bytes = Buffer.byteLength(path);
  if (bytes > maxPathBytes) {
    throw new DashboardError(
      "path-too-long",
      `${path}: the path of a socket may have ${maxPathBytes} bytes, this one has ${bytes}; put the database (history.path) into a folder with a shorter path`,
    );
  }
  await removeDeadSocket(path);
  await bind(server, path);
}

/**
 * Returns the reason why another user may own a socket, as the end of a sentence that begins with its path; null: none,
 * or there is no socket. `owner` is a user who may own it besides this user and root.
 */
export function foreignReason(path: string, owner?: number): string | null {
  const options = owner === undefined ? {} : { owner };
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined || !stat.isSocket()) return null;
  const isOwned = distrust(path, { ...stat, mode: 0 }, options) === null;
  if (!isOwned) return `belongs to another user, ${userName(stat.uid)}`;
  return distrust(path, stat, options) ?? distrustedWay(path, options);
}

async function removeDeadSocket(path: string): Promise<void> {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (!stat) return;
  const foreignUser = foreignReason(path);
  if (foreignUser !== null)
    throw new DashboardError(
      "not-trusted",
      `${path} is in the way: it ${foreignUser}; have it removed (rm ${shellWord(path)}), or choose another history.path`,
    );
  if (!stat.isSocket()) {
    throw new DashboardError(
      "not-a-socket",
      `${path} is in the way: the daemon's socket belongs there, and this is something else; move it away`,
    );
  }
  const answer = await probeSocket(path);
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

function probeSocket(path: string): Promise<Answer> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve("alive");
    });
    socket.once("error", (error) => {
      const code = errorCode(error);
      // A full connection queue belongs to a busy daemon.
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
    // The socket is bound inside listen(), so the umask applies to it only.
    const mask = process.umask(0o177);
    try {
      server.listen({ path });
    } finally {
      process.umask(mask);
    }
  });
  chmodSync(path, 0o600);
}
