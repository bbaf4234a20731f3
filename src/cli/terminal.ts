/** The terminal that a process was started in, and its closing. */
import { closeSync } from "node:fs";
import { isatty } from "node:tty";

/** The standard streams that were terminals when this was loaded. */
const terminals = [0, 1, 2].filter((fd) => isatty(fd));

/** True once a terminal of the standard streams was closed: reads and writes of it fail from then on. */
export function isTerminalClosed(): boolean {
  return terminals.some((fd) => !isatty(fd));
}

/**
 * Closes what is left of terminals that were closed. At the end of the process only: Node sets each terminal back to what it
 * was then, and aborts (status 134) where one is closed that this process still has open.
 */
export function letGoOfClosedTerminals(): void {
  for (const fd of terminals) {
    if (isatty(fd)) continue;
    try {
      closeSync(fd);
    } catch {
      // It is closed already.
    }
  }
}
