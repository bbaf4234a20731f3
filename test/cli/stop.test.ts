/** The end of a run in the log. */
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { startSimulator } from "../../src/simulator/index.ts";
import { startProgram } from "../support/program.ts";
import { desk, run } from "./run.ts";

/** A port that nobody listens on. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

test("a stop logs the pending messages and the firing alerts, and the status shows the state of its channel until then", async () => {
  using place = desk();
  const simulator = await startSimulator({ port: 0, traders: 1, walk: false, keysDir: place.folder });
  try {
    await simulator.call("exchange", { active: false });
    const port = await closedPort();
    const mail = `, mail: { type: email, smtp: { host: 127.0.0.1, port: ${port}, secure: false }, from: a@example.org, to: [b@example.org] }`;
    const config = (more: string) =>
      [
        `exchange: { baseUrl: ${simulator.url} }`,
        `wallets: [ { name: main, authority: ${simulator.traders[0]!.authority} } ]`,
        `channels: { here: { type: console }${more} }`,
        "history: { path: ./p.db }",
        "dashboard: { listen: off }",
        "",
      ].join("\n");
    place.write("config.yaml", config(mail));
    await using daemon = startProgram(["start", "--log-level", "debug"], place);
    await daemon.line((line) => line.includes("a message is tried again later"));
    expect((await run(["status"], place)).stdout).toMatch(/^mail +email +retrying +1 .*ECONNREFUSED/m);
    expect(await daemon.end("SIGTERM")).toEqual({ status: 0, signal: null });
    // Neither stream of a daemon that no person looks at holds anything but lines of JSON.
    expect(JSON.parse(daemon.stdout[0]!)).toMatchObject({
      channel: "here",
      level: "error",
      alerts: [{ id: 1 }],
    });
    const { msg } = JSON.parse(daemon.stderr.at(-1)!) as { msg: string };
    expect(msg).toMatch(
      /^stopped after [\d.]+m?s; all that was seen is stored, 1 message still pending, to be sent at the next start; 1 critical alert is firing \(#1\): nobody watches it now$/,
    );

    // The same without the channel that has a pending message.
    place.write("config.yaml", config(""));
    await using next = startProgram(["start"], place);
    const told = await next.line(
      (line) => line.includes("MessagesDropped") && line.includes('"channel":"here"'),
    );
    expect(JSON.parse(told)).toMatchObject({
      level: "warn",
      msg: "WARNING: 1 message to mail was dropped: no channel of this name is configured",
    });
    expect(await next.end("SIGTERM")).toEqual({ status: 0, signal: null });
  } finally {
    await simulator.stop();
  }
});
