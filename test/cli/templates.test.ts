/** The results of channel templates, from a shell. */
import { expect, test } from "vitest";
import { desk, plainConfig, run } from "./run.ts";

const own = `{ type: console, templates: { title: "{{ alert.symbol }} at {{ price(position.markPrice) }}", ended: { title: Over } } }`;
const config = plainConfig.replace(/^channels:.*$/m, `channels: { here: ${own}, plain: { type: console } }`);

test("preview renders a sample alert by the channel's templates, for each kind of change", async () => {
  using place = desk();
  place.write("config.yaml", config);
  const { status, stdout } = await run(["channels", "preview", "here"], place);
  expect(status).toBe(0);
  expect(stdout.match(/^\w+$/gm)).toEqual(["fired", "resolved", "ended"]);
  expect(stdout).toContain("  FIRING warning: SOL at $138.00\n");
  expect(stdout).toContain("  RESOLVED: SOL at $138.00\n");
  expect(stdout).toContain("  Over\n");
  const one = await run(["channels", "preview", "here", "--kind", "event", "--json"], place);
  expect(one.json()).toMatchObject({
    channel: "here",
    templates: true,
    texts: [{ kind: "event", faults: [] }],
  });
  const plain = await run(["channels", "preview", "plain"], place);
  expect(plain.stdout).toMatch(/^plain has no templates: these are the usual words\.\n/);
  expect(plain.stdout).toContain("FIRING warning: main: SOL long is 17% from liquidation");
});

test("preview names what there is", async () => {
  using place = desk();
  place.write("config.yaml", config);
  const unknown = await run(["channels", "preview", "hree"], place);
  expect(unknown.status).toBe(2);
  expect(unknown.stderr).toContain("here");
  const kind = await run(["channels", "preview", "here", "--kind", "solved"], place);
  expect([kind.status, kind.stderr]).toEqual([2, expect.stringContaining("resolved")]);
});

test("check reports a mistake in a template at its place, and exits 2", async () => {
  using place = desk();
  place.write("config.yaml", config.replace("alert.symbol", "alert.symbl"));
  const { status, stderr } = await run(["check"], place);
  expect(status).toBe(2);
  expect(stderr).toMatch(
    /config\.yaml:\d+:\d+: channels\.here\.templates\.title: unknown field alert\.symbl\n +did you mean symbol\?/,
  );
});

test("vocabulary lists all names", async () => {
  const people = await run(["channels", "vocabulary"]);
  expect(people.stdout).toMatch(/^happenedAt +time +when it happened/m);
  expect((await run(["channels", "vocabulary", "--json"])).json()).toMatchObject({
    sections: [{ title: "alert" }, { title: "message" }],
  });
});
