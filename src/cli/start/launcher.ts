/** Detects the end of the launcher (launch.mjs) that started this process. */
import { Socket } from "node:net";

/**
 * Calls `then` once the launcher has ended for any reason: it holds the other end of a pipe, which the system closes.
 * Does nothing in a process without a launcher, and does not keep the process alive.
 */
export function onLauncherEnd(then: () => void): void {
  const { PERPWATCH_LAUNCHER_FD: fd } = process.env;
  if (fd === undefined) return;
  // Programs that this process starts have another parent.
  delete process.env.PERPWATCH_LAUNCHER_FD;
  let pipe: Socket;
  try {
    pipe = new Socket({ fd: Number(fd), writable: false });
  } catch {
    // There is no pipe with that number: the variable was inherited from another process.
    return;
  }
  pipe.on("error", () => {});
  pipe.once("close", then);
  pipe.resume().unref();
}
