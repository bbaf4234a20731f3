/**
 * argv to exit status, nothing else. The commands are loaded only after the check: some of what they load is native
 * and crashes an old Node instead of refusing it.
 */
import { supportsNode } from "./node-version.ts";

if (supportsNode(process.versions.node)) {
  const { main } = await import("./cli/main.ts");
  process.exitCode = await main(process.argv.slice(2));
} else {
  process.stderr.write(
    `perpwatch: needs Node 22.18 or newer, this is ${process.versions.node}. ` +
      "Start it with `npm start` or `npm run -s perpwatch -- <command>`, which bring one, or install Node 24.\n",
  );
  process.exitCode = 1;
}
