/** `perpwatch notifications audit`, over the local API's real socket. */
import { expect, test } from "vitest";
import type { InboxAudit } from "../../src/domain/inbox.ts";
import { openDashboard } from "../web/open.ts";
import { nowMs } from "../web/world.ts";
import { desk, run } from "./run.ts";

const good: InboxAudit = {
  ...{ wallet: "main", atMs: nowMs, failure: null, there: 12 },
  differences: [
    {
      ...{ kind: "notStored", key: "notification:event:1:0:0:0:0", type: "adl", happenedMs: nowMs },
      ...{ done: "fetched", lasting: false },
    },
    {
      ...{ kind: "ackedHereOnly", key: "notification:admin:7", type: "maintenance", happenedMs: nowMs },
      ...{ done: "not yet", lasting: true },
    },
  ],
  left: [{ key: "notification:admin:8", type: "news", happenedMs: nowMs, why: "no rule matches it" }],
};
const failed: InboxAudit = {
  ...{ wallet: "desk", atMs: nowMs, failure: "403 refused", there: 0, differences: [], left: [] },
};

test("prints every difference with what was done, and why each is left; an inbox that is not read exits 1", async () => {
  const asked: unknown[] = [];
  await using dashboard = await openDashboard({
    auditNotifications: async (wallet) => {
      asked.push(wallet);
      return wallet === "main" ? [good] : wallet === undefined ? [good, failed] : null;
    },
  });
  using place = desk();
  place.write(
    "config.yaml",
    `history: { path: ${dashboard.socketPath.replace(/\.sock$/, "")} }\nchannels: { here: { type: console } }\n`,
  );
  const one = await run(["notifications", "audit", "--wallet", "main"], { ...place, columns: 120 });
  expect(one.status).toBe(0);
  expect(one.stdout.split("\n").map((line) => line.replace(/ {2,}/g, " | "))).toEqual([
    "main: 12 notifications at the exchange, 2 differences, 1 left unacknowledged",
    "HAPPENED | TYPE | ID | DIFFERENCE | FOUND | WHAT WAS DONE",
    "2026-11-20 12:00:00 UTC | adl | event:1:0:0:0:0 | at the exchange, not stored here | new | fetched",
    "2026-11-20 12:00:00 UTC | maintenance | admin:7 | acknowledged here, not there | again | not yet",
    "HAPPENED | TYPE | ID | LEFT BECAUSE",
    "2026-11-20 12:00:00 UTC | news | admin:8 | no rule matches it",
    "",
  ]);
  const all = await run(["notifications", "audit"], place);
  expect(all.status).toBe(1);
  expect(all.stdout).toContain("desk: its inbox could not be read: 403 refused");
  const none = await run(["notifications", "audit", "--wallet", "nobody"], place);
  expect([none.status, asked]).toEqual([2, ["main", undefined, "nobody"]]);
});
