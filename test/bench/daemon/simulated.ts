/** A quiet simulated exchange as a process of its own; it lives as long as its parent. `simulated.ts TRADERS KEYSDIR` */
import { runSimulator } from "../../../src/simulator/index.ts";

const [traders = "4", keysDir = ""] = process.argv.slice(2);
await runSimulator({ port: 0, walk: "off", traders, keysDir }, process.stdout, process.stderr);
process.on("disconnect", () => process.exit(0));
