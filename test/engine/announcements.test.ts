/** An announcement that stands in the inboxes of several wallets is notified once, and never to nobody. */
import { expect, test } from "vitest";
import type { Event } from "../../src/domain/event.ts";
import { Harness, mainWallet, notification, rulesOf } from "./harness.ts";

const wallets = ["a", "b", "c"].map((name) => ({
  ...mainWallet,
  name,
  authority: `key-${name}`,
  labels: {},
}));
const rules = rulesOf(
  `rules:\n  - { name: Ann, on: notification, when: 'event.type == "maintenance"', severity: critical, summary: "m" }`,
  wallets,
);

/** A wallet's copy of the announcement. */
function copy(wallet: string): Event {
  return notification(`notification:admin:${wallet}:7`, "maintenance", {
    ...{ wallet, symbol: null, pdaIndex: null, subaccount: null },
    fields: { source: "admin", type: "maintenance" },
    inbox: {
      source: "admin",
      notificationType: "maintenance",
      traderPubkey: "x",
      item: { type: "admin", id: 7 } as never,
      acked: false,
      liquidationKey: null,
    },
  });
}

function silence(h: Harness, wallet: string, ms: number): void {
  const times = { startsMs: h.nowMs, endsMs: h.nowMs + ms, createdMs: h.nowMs };
  const match = { wallet: { in: [wallet] } };
  h.see({
    kind: "silenced",
    atMs: h.nowMs,
    silence: { id: 1, match, upTo: "critical", author: "ann", comment: "", ...times },
  });
}

const take = (h: Harness, wallet: string) => void h.events("notifications", [copy(wallet)], wallet);

test("copies of one announcement are notified once", () => {
  const h = new Harness({ rules, wallets });
  for (const wallet of ["a", "b", "c"]) take(h, wallet);
  expect(h.owed).toEqual(["chat: Ann a fired critical"]);
});

test("a copy that a silence holds does not keep the next wallet's copy from being notified", () => {
  const h = new Harness({ rules, wallets });
  silence(h, "a", 86_400_000);
  for (const wallet of ["a", "b", "c"]) take(h, wallet);
  h.pass(10_000);
  expect(h.owed).toEqual(["chat: Ann b fired critical"]);
});

test("a copy that a silence holds over a restart does not either", () => {
  const h = new Harness({ rules, wallets });
  silence(h, "a", 86_400_000);
  take(h, "a");
  const after = h.restarted({ rules, wallets });
  for (const wallet of ["b", "c"]) take(after, wallet);
  expect(after.owed).toEqual(["chat: Ann b fired critical"]);
});
