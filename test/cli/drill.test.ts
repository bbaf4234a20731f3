/** `perpwatch drill`, over the local API's real socket. */
import { expect, test } from "vitest";
import type { DashboardSource } from "../../src/domain/ports.ts";
import { alertChange, message, owedItem } from "../history/examples.ts";
import { openDashboard } from "../web/open.ts";
import { alert, nowMs } from "../web/world.ts";
import { desk, run } from "./run.ts";

const told = alert({
  ...{ id: 9, rule: "FireDrill", subject: "drill", wallet: null, drill: true, event: true, state: "ended" },
  ...{ eventKey: "drill:x", firedAtMs: nowMs, dataAtMs: nowMs },
});

function story(mail: "delivered" | "sealed") {
  return {
    alert: told,
    changes: [alertChange({ id: 1, alertId: 9, atMs: nowMs, happenedMs: nowMs, alert: told })],
    owed: [
      owedItem({ id: 1, receiver: "chat", owedAtMs: nowMs, status: "delivered", messageId: "A" }),
      owedItem({ id: 2, receiver: "mail", owedAtMs: nowMs, status: mail, messageId: "B" }),
    ],
    messages: [
      message({ id: "A", sealedAtMs: nowMs + 2, deliveredAtMs: nowMs + 90, receipt: "1187" }),
      mail === "delivered"
        ? message({ id: "B", sealedAtMs: nowMs + 2, deliveredAtMs: nowMs + 1_500, receipt: "250 taken" })
        : message({ id: "B", sealedAtMs: nowMs + 2, lastFailure: "unreachable", lastDetail: "no route" }),
    ],
  };
}

async function daemon(of: Partial<DashboardSource>) {
  const asked: unknown[] = [];
  const dashboard = await openDashboard({
    drill: async (channels, by) => {
      asked.push([channels, by.length > 0]);
      const unknown = channels.find((name) => name !== "chat" && name !== "mail");
      if (unknown !== undefined) return { kind: "unknown", channel: unknown };
      return { kind: "begun", alertId: 9, channels: ["chat", "mail"], withinMs: 20_000 };
    },
    ...of,
  });
  const place = desk();
  place.write(
    "config.yaml",
    `history: { path: ${dashboard.socketPath.replace(/\.sock$/, "")} }\nchannels: { here: { type: console } }\n`,
  );
  return {
    asked,
    run: (...args: string[]) => run(args, place),
    async [Symbol.asyncDispose]() {
      place[Symbol.dispose]();
      await dashboard[Symbol.asyncDispose]();
    },
  };
}

test("prints the receipts when every channel took it", async () => {
  let looks = 0;
  await using it = await daemon({ alert: async () => story(looks++ === 0 ? "sealed" : "delivered") });
  const { status, stdout, stderr } = await it.run("drill");
  expect({ status, stderr }).toEqual({
    status: 0,
    stderr: "Drill #9 is on its way to chat, mail; waiting for each.\n",
  });
  expect(it.asked).toEqual([[[], true]]);
  expect(looks).toBeGreaterThan(1);
  expect(stdout.split("\n").map((line) => line.replace(/ {2,}/g, " | "))).toEqual([
    "RECEIPT | OF | HAPPENED | SEEN | FIRED | PENDING | FINALIZED | ACCEPTED | ACKNOWLEDGED",
    "chat | fired | 2026-11-20 12:00:00 UTC | +0ms | +0ms | +0ms | +2ms | +88ms | –",
    "mail | fired | 2026-11-20 12:00:00 UTC | +0ms | +0ms | +0ms | +2ms | +1.5s | –",
    "",
    "chat took it in 90ms: 1187",
    "mail took it in 1.5s: 250 taken",
    "",
  ]);
  const list = await it.run("alerts", "show", "9");
  expect(list.stdout).toContain("DRILL, nothing happened");
});

test("names the channel that did not take it in time, and exits 1", async () => {
  await using it = await daemon({ alert: async () => story("sealed") });
  const { status, stdout } = await it.run(
    "drill",
    "--channel",
    "chat",
    "--channel",
    "mail",
    "--within",
    "300ms",
  );
  expect(status).toBe(1);
  expect(it.asked).toEqual([[["chat", "mail"], true]]);
  expect(stdout).toContain("chat took it in 90ms: 1187\n");
  expect(stdout).toContain("mail did not take it within 300ms: unreachable, no route\n");
  const json = await it.run("drill", "--within", "300ms", "--json");
  expect([json.status, json.json()]).toMatchObject([
    1,
    {
      alertId: 9,
      channels: [
        { channel: "chat", failure: null, tookMs: 90, receipt: "1187" },
        { channel: "mail", failure: "within 300ms: unreachable, no route", tookMs: null },
      ],
    },
  ]);
});

test("without a daemon, or of a channel that there is not, it is refused", async () => {
  await using it = await daemon({});
  expect(await it.run("drill", "--channel", "pager")).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("no channel is called pager"),
  });
  using alone = desk();
  alone.write("config.yaml", "history: { path: ./p }\nchannels: { here: { type: console } }\n");
  expect(await run(["drill"], alone)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("the daemon is not running"),
  });
});
