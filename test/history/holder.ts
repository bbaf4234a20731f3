/** A process that holds the database of its first argument open until it is killed. */
import { openStore } from "../../src/history/index.ts";

openStore({ path: process.argv[2] as string });
process.stdout.write("open\n");
setInterval(() => undefined, 60_000);
