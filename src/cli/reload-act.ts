/** The command that makes a running daemon reload its configuration, as the user can type it. */
import { readFileSync } from "node:fs";
import { type Cli, CommandFailed } from "./command.ts";
import { hasConfiguration, locate } from "./configuration.ts";
import { ask } from "./daemon.ts";

/** @returns a clause that begins with a verb */
export async function reloadAct(cli: Cli, config: string): Promise<string> {
  const pid = await daemonOf(cli, config);
  if (pid === null) return "start the daemon, or have the running one read it again (SIGHUP)";
  return `have the daemon read it again: ${reloadCommand(pid)}`;
}

/** The command that makes a process of perpwatch reload its configuration. */
export function reloadCommand(pid: number): string {
  const unit = unitIn(cgroupOf(pid));
  if (unit === null) return `kill -HUP ${pid}`;
  return `${unit.isUsers ? "systemctl --user" : "sudo systemctl"} reload ${unit.name}`;
}

/** @returns the process of the daemon of this configuration; null: there is none, or it cannot be asked */
async function daemonOf(cli: Cli, config: string): Promise<number | null> {
  if (!hasConfiguration(cli, config)) return null;
  try {
    const place = await locate(cli, config);
    if ((await ask(place, "GET", "/healthz", undefined, 2_000)).kind === "noDaemon") return null;
    const { writerOf } = await import("../history/index.ts");
    return writerOf(place.databasePath);
  } catch (error) {
    if (error instanceof CommandFailed) return null;
    throw error;
  }
}

function cgroupOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, "utf8");
  } catch {
    return "";
  }
}

/**
 * The service of perpwatch that a process belongs to.
 * @param cgroup the text of /proc/PID/cgroup
 */
export function unitIn(cgroup: string): { readonly name: string; readonly isUsers: boolean } | null {
  const [, folder = "", name] = /^\d+:[^:\n]*:(\S*\/)(perpwatch[\w@.-]*)\.service\b/m.exec(cgroup) ?? [];
  return name === undefined ? null : { name, isUsers: folder.includes("/user.slice/") };
}
