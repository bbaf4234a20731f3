/** The name of the user who runs the command. */
import { userInfo } from "node:os";
import type { Cli } from "../command.ts";

export function userName(cli: Cli): string {
  try {
    return userInfo().username;
  } catch {
    // The user has no entry in the system's user list, as in some containers.
    return cli.env.USER ?? "shell";
  }
}
