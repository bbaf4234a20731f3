/** The person who types. */
import { userInfo } from "node:os";
import type { Cli } from "./command.ts";

export function userName(cli: Cli): string {
  try {
    return userInfo().username;
  } catch {
    // A user without an entry in the system's list, as in some containers.
    return cli.env.USER ?? "shell";
  }
}
