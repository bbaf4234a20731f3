/**
 * argv to exit status, nothing else. The commands are loaded only after the check: some of what they load is native
 * and crashes an old Node instead of refusing it.
 */
import module from "node:module";
import path from "node:path";
import { supportsNode } from "./cli/start/node-version.ts";

if (supportsNode(process.versions.node)) {
  // What was compiled once is kept where it can be: the next command begins sooner, with no compiler in its memory.
  module.enableCompileCache(path.join(import.meta.dirname, "..", ".runtime", "compiled"));
  const { checkCertificates } = await import("./cli/start/certificates.ts");
  checkCertificates(process.env);
  const { endAtCrash } = await import("./cli/start/crash.ts");
  endAtCrash();
  const { main } = await import("./cli/main.ts");
  process.exitCode = await main(process.argv.slice(2));
} else {
  process.stderr.write(
    `perpwatch: needs Node 22.18 or newer, this is ${process.versions.node}. ` +
      "Start it with `npm start` or `npm run -s perpwatch -- <command>`, which bring one, or install Node 24.\n",
  );
  process.exitCode = 1;
}
