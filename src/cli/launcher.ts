/** The launcher (launch.mjs) where it runs beside this process, and its end. */
import { Socket } from "node:net";

/**
 * Calls `then` once the launcher has ended, however it ended: it holds the other end of a pipe, which the system closes. Never
 * called in a process that has no launcher beside it. Keeps the process from nothing.
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
    // No pipe of that number: the variable was inherited from somewhere else.
    return;
  }
  pipe.on("error", () => {});
  pipe.once("close", then);
  pipe.resume().unref();
}
