/** Tests the program of docs/channels/oncall.md against a GoAlert that accepts what its documentation permits. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { channelSettings, createChannel } from "../../src/channels/registry.ts";
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import { seededRandom, systemClock } from "../../src/domain/clock.ts";
import { GoAlert } from "../support/goalert.ts";
import { startService } from "../support/service.ts";
import { change, message, outgoing } from "./messages.ts";

const page = readFileSync(new URL("../../docs/channels/oncall.md", import.meta.url), "utf8");
const program = /```js\n(.*?)```/s.exec(page)![1]!;
const never = new AbortController().signal;
const token = "0b9b4b0e-5b5b-4a39-8b64-1b9f4b6d2a11";

async function openGoalert(key = token) {
  const goalert = new GoAlert(token);
  const far = await startService(goalert.dialect);
  const folder = mkdtempSync(path.join(tmpdir(), "perpwatch-goalert-"));
  const file = (name: string, content: string, mode: number) => {
    writeFileSync(path.join(folder, name), content, { mode });
    return path.join(folder, name);
  };
  const channel = createChannel(
    "goalert",
    channelSettings.parse({
      type: "command",
      command: file("tell-goalert.mjs", program, 0o755),
      args: [file("url", `${far.url}/api/v2/generic/incoming?token=${key}\n`, 0o600)],
      timeout: "30s",
    }),
    {
      ...{ clock: systemClock(), random: seededRandom(1), out: new PassThrough() },
      environment: { PATH: `${path.dirname(process.execPath)}:${process.env.PATH ?? ""}` },
    },
  );
  const sendChanges = (...changes: readonly AlertChange[]) =>
    channel.send(outgoing({ message: message(changes) }), never);
  const close = async () => {
    await far.close();
    rmSync(folder, { recursive: true });
  };
  return { goalert, far, channel, sendChanges, [Symbol.asyncDispose]: close };
}

test("an alert is open in GoAlert from its start to its end, for any changes and retries in between", async () => {
  await using one = await openGoalert();
  const first = change("fired", { id: 1, summary: `main: SOL long ${"é🦀".repeat(200)}` });
  const second = change("fired", { id: 2 });
  const delivered = { kind: "delivered", receipt: "GoAlert took it" };
  expect(await one.sendChanges(first, second)).toEqual(delivered);
  expect(await one.sendChanges(first, second)).toEqual(delivered);
  expect(one.goalert.open).toHaveLength(2);
  expect(one.goalert.open[0]!.summary).toMatch(/^FIRING critical: main: SOL long é🦀/);
  expect(one.goalert.open[1]!.details).toContain("#2 of perpwatch on nuc");
  const { firedAtMs } = first.alert;
  for (const kind of ["rose", "reminder"] as const) await one.sendChanges(change(kind, { id: 1, firedAtMs }));
  expect(one.goalert.open).toHaveLength(2);
  // It would reopen an alert that a person closed.
  const asked = one.far.asked.length;
  expect(await one.sendChanges(change("acknowledged", { id: 1, firedAtMs }))).toEqual(delivered);
  expect(one.far.asked).toHaveLength(asked);
  await one.sendChanges(change("ended", { id: 1, firedAtMs }));
  expect(one.goalert.open.map(({ details }) => /#\d/.exec(details)?.[0])).toEqual(["#2"]);
  // An end without a start opens nothing.
  await one.sendChanges(change("ended", { id: 9 }));
  expect(one.goalert.open).toHaveLength(1);
});

test("a test opens one, a digest none", async () => {
  await using one = await openGoalert();
  const send = (kind: "test" | "digest") =>
    one.channel.send(outgoing({ message: message([], { content: { kind, title: "A title" } }) }), never);
  expect(await send("test")).toMatchObject({ kind: "delivered" });
  expect(await send("digest")).toMatchObject({ kind: "delivered" });
  expect(one.goalert.open.map(({ summary }) => summary)).toEqual([expect.stringContaining("A title")]);
});

test("a server error or an unknown key: retry; a refused request: refused for good", async () => {
  await using one = await openGoalert();
  one.far.fault({ status: 503 });
  expect(await one.sendChanges(change())).toMatchObject({
    kind: "retry",
    detail: expect.stringContaining("503"),
  });
  one.far.fault({ status: 400 });
  expect(await one.sendChanges(change())).toMatchObject({ kind: "refused", channelBroken: false });
  await one.far.close();
  expect(await one.sendChanges(change())).toMatchObject({ kind: "retry" });
  await using other = await openGoalert("another-key");
  expect(await other.sendChanges(change())).toMatchObject({
    kind: "retry",
    detail: expect.stringContaining("401"),
  });
  expect(other.goalert.open).toEqual([]);
});
