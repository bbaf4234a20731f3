/** Detects that the terminal of the process was closed. */
import { closeSync } from "node:fs";
import { isatty } from "node:tty";

/** The standard streams that were terminals when this module was loaded. */
const terminals = [0, 1, 2].filter((fd) => isatty(fd));

/** Returns true once a terminal of the standard streams was closed: its reads and writes fail from then on. */
export function isTerminalClosed(): boolean {
  return terminals.some((fd) => !isatty(fd));
}

/**
 * Closes file descriptors of closed terminals. At its end Node restores the mode of each terminal, and aborts (status
 * 134) at a closed one that is still open here, so this is called only at the end.
 */
export function closeClosedTerminals(): void {
  for (const fd of terminals) {
    if (isatty(fd)) continue;
    try {
      closeSync(fd);
    } catch {
      // It is closed already.
    }
  }
}
