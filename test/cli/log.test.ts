/** The log: fields that it removes, and its formats. */
import { closeSync, openSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Cli } from "../../src/cli/command.ts";
import { createLog } from "../../src/cli/start/log.ts";
import type { LogOptions } from "../../src/cli/start/log-options.ts";
import { desk } from "./run.ts";

/** The log on stderr, when that is a file. */
async function logged(
  options: LogOptions,
  write: (log: Awaited<ReturnType<typeof createLog>>["log"]) => void,
): Promise<string> {
  using place = desk();
  const file = place.write("log", "");
  const fd = openSync(file, "a");
  try {
    const cli = { err: { fd, isTTY: false }, env: {} } as unknown as Cli;
    const { log, flush } = await createLog(cli, options);
    write(log);
    flush();
    // A write in progress ends by itself.
    const written = () => readFileSync(file, "utf8");
    await expect.poll(written, { interval: 1 }).toMatch(/\n$/);
    return written();
  } finally {
    closeSync(fd);
  }
}

describe("what is called a secret", () => {
  const values = {
    token: "tok-1",
    headers: { authorization: "Bearer tok-2" },
    channel: { settings: { password: "pass-3", webhookUrl: "https://hook-4" } },
    wallet: "main",
  };
  test.each(["json", "pretty"] as const)("is not written, %s", async (format) => {
    const text = await logged({ level: "info", format }, (log) => log.warn(values, "careful"));
    expect(text).toContain("careful");
    expect(text).toContain("main");
    expect(text).not.toMatch(/tok-1|tok-2|pass-3|hook-4/);
    expect(text.match(/\(not shown\)/g)).toHaveLength(4);
  });
});

test("JSON: a line an entry, with level and time in words", async () => {
  const text = await logged({ level: "info", format: "auto" }, (log) => {
    log.info({ wallet: "main", size: 12n }, "first\nsecond");
    log.debug("not at this level");
  });
  expect(text.trimEnd().split("\n")).toHaveLength(1);
  expect(JSON.parse(text)).toEqual({
    level: "info",
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
    wallet: "main",
    size: 12,
    msg: "first\nsecond",
  });
});

test("pretty: time, level, message and fields in a line; only a stack takes more", async () => {
  const text = await logged({ level: "debug", format: "pretty" }, (log) => {
    log.info({ wallet: "main", alert: 3 }, "signed in");
    log.error({ error: "Error: x\n    at y" }, "broken");
  });
  expect(text.split("\n").map((line) => line.replace(/^\[[\d:]+\]/, "[t]"))).toEqual([
    "[t] INFO: signed in  wallet=main  alert=3",
    "[t] ERROR: broken",
    "error=Error: x",
    "        at y",
    "",
  ]);
});
