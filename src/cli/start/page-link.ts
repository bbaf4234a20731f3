/** Shows the link to the status page to the person who started the daemon. */
import type { Writable } from "node:stream";
import type { Logger } from "pino";
import type { Daemon } from "../../daemon/app.ts";
import type { CommandLine } from "../terminal/command-line.ts";

export interface LinkPlace {
  /** The stream of a terminal. Null: there is none, and the link is not written to the log. */
  readonly terminal: Writable | null;
  readonly log: Logger;
  readonly commandLine: CommandLine;
}

export function showPageLink(
  daemon: Pick<Daemon, "url" | "pageLink">,
  { terminal, log, commandLine }: LinkPlace,
): void {
  if (daemon.url === null) return;
  const again = commandLine("page");
  if (terminal === null) {
    log.info(`to log in to the status page, ask for a link: ${again}`);
    return;
  }
  const link = daemon.pageLink();
  if (link === null || link.expiresMs === null) return;
  terminal.write(
    `\nto log in to the status page, open this link (it works once, within 10 minutes; ${again} makes another):\n  ${link.url}\n\n`,
  );
}
