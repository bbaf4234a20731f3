/** docs/messages.md is what the rules and channels make of the lives in test/messages/, and no shipped rule or stage is left out. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { loadRules } from "../../src/rules/index.ts";
import { scheduleMs } from "../engine/harness.ts";
import { document, documentFile, rulesByPack, stages } from "../messages/document.ts";
import { otherEnds } from "../messages/ends.ts";
import { sentOfIncident } from "../messages/incident.ts";
import { packs } from "../messages/judged.ts";

const told = stages();
const incident = sentOfIncident();

test("docs/messages.md is what `npm run docs:messages` writes", { timeout: 60_000 }, async () => {
  expect(readFileSync(documentFile, "utf8")).toBe(document(await told, otherEnds(), await incident));
});

test("each rule is told at each level, and where its condition ends, as resolved", {
  timeout: 60_000,
}, async () => {
  const files = [...rulesByPack().keys()].map((pack) => ({
    name: pack,
    text: readFileSync(`${packs}/${pack}.yaml`, "utf8"),
  }));
  const loaded = loadRules({ files, overrides: {}, scheduleMs, wallets: [], pairs: [], timezone: "UTC" });
  if (!("ruleSet" in loaded)) throw new Error("the packs cannot be loaded");
  const byRule = Map.groupBy(await told, ({ rule }) => rule);
  const missing: string[] = [];
  for (const { name, levels } of loaded.ruleSet.conditions) {
    const changes = (byRule.get(name) ?? []).map(({ change }) => change);
    for (const { severity } of levels)
      if (!changes.some(({ kind, alert }) => kind !== "ended" && alert.severity === severity))
        missing.push(`${name}: ${severity}`);
    if (!changes.some(({ kind }) => kind === "ended")) missing.push(`${name}: its end`);
  }
  for (const { name } of loaded.ruleSet.events) if (!byRule.has(name)) missing.push(name);
  expect(missing).toEqual([]);
});

test("title, value and figures of one message state the same distance", async () => {
  const distances = (await told).flatMap(({ change: { alert, limit = "", details } }) => {
    const title = /is ([\d.]+%) from liquidation/.exec(alert.summary)?.[1];
    const figure = details.find(([name]) => name === "Distance")?.[1];
    if (alert.rule !== "LiquidationNear" || title === undefined || figure === undefined) return [];
    return [[title, figure.split(",")[0], limit === "" ? title : limit.split(",")[0]]];
  });
  expect(distances.length).toBeGreaterThan(8);
  for (const [title, figure, value] of distances) expect([figure, value]).toEqual([title, title]);
});

test("what is told has figures: nothing is left unknown", { timeout: 60_000 }, async () => {
  const unknown = (await told).flatMap(({ change: { alert, details } }) =>
    [alert.summary, alert.description, ...details.map(([, value]) => value)]
      .filter((text) => /(^|[\s(])–/.test(text))
      .map((text) => `${alert.rule}: ${text}`),
  );
  expect(unknown).toEqual([]);
});

test("each kind of end is told", { timeout: 60_000 }, async () => {
  const ends = [...(await told).map(({ change }) => change), ...otherEnds()].flatMap(({ kind, alert }) =>
    kind === "ended" ? (alert.ending ?? []) : [],
  );
  const all = ["recovered", "closed", "liquidated", "deleveraged", "flipped"];
  expect(new Set(ends)).toEqual(new Set([...all, "explained", "ruleChanged", "noLongerWatched"]));
});

test("an incident is told from its first account to its end, and edited in between", {
  timeout: 60_000,
}, async () => {
  const chat = (await incident).filter(({ receiver }) => receiver === "chat");
  const story = chat.map(({ edited, message: { content } }) => {
    const kinds = new Set(content.items.map(({ change }) => change.kind));
    return `${edited ? "edit" : "message"}: ${[...kinds].join(", ")}`;
  });
  expect(story).toEqual([
    ...[
      "message: fired",
      "message: fired",
      "message: fired, worsened",
      "edit: worsened",
      "message: reminder",
    ],
    ...["edit: acknowledged", "message: ended", "edit: ended"],
  ]);
  const mails = (await incident).filter(({ receiver }) => receiver === "mail");
  const alertsAtEnd = new Set(mails.at(-1)!.message.alertIds);
  expect(alertsAtEnd.size).toBe(new Set(mails.flatMap(({ message }) => message.alertIds)).size);
  expect(new Set(mails.flatMap(({ message }) => message.content.threads ?? [])).size).toBe(1);
});
