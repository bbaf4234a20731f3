/** Commands continue only after a typed yes. */
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { Cli } from "../../src/cli/command.ts";
import { consent } from "../../src/cli/terminal/consent.ts";

/** A terminal with typed input. */
function terminal(typed: string | null, isTTY = true) {
  const input = Object.assign(new PassThrough(), { isTTY, setRawMode: () => {} });
  const output = new PassThrough();
  let shown = "";
  output.setEncoding("utf8").on("data", (text: string) => {
    shown += text;
    if (!text.includes("Type yes")) return;
    if (typed === null) input.end();
    else input.write(`${typed}\n`);
  });
  return { cli: { in: input, err: output } as unknown as Pick<Cli, "in" | "err">, shown: () => shown };
}

test("yes goes on", async () => {
  const { cli, shown } = terminal("yes");
  await consent(cli, "This will be sent.", false);
  expect(shown()).toContain("This will be sent. Type yes to go on: ");
});

test.each(["", "y", "YES", "yes please", "no", null])("%j does not", async (typed) => {
  const { cli } = terminal(typed);
  await expect(consent(cli, "This will be sent.", false)).rejects.toMatchObject({
    status: 1,
    message: "nothing was signed or sent",
  });
});

test("--yes asks no question; without a terminal a question is wrong use", async () => {
  const { cli, shown } = terminal("no", false);
  await consent(cli, "This will be sent.", true);
  await expect(consent(cli, "This will be sent.", false)).rejects.toMatchObject({
    status: 2,
    message: expect.stringContaining("--yes"),
  });
  expect(shown()).toBe("");
});
