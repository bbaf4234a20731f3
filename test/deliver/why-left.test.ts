/** Each reason for which a notification stays unacknowledged, in words. */
import { expect, test } from "vitest";
import { type LeftParts, whyLeft } from "../../src/deliver/acknowledge/why-left.ts";
import type { Acknowledgement } from "../../src/domain/alerts/delivery.ts";
import { acknowledgement, event } from "../history/examples.ts";

const nothing: LeftParts = { items: new Map(), held: new Map(), shadow: new Map() };
const item = (receiver: string, status: "owed" | "sealed" | "delivered" | "dead") => ({ receiver, status });

const cases: readonly (readonly [string, Partial<Acknowledgement> | null, Partial<LeftParts>])[] = [
  ["not judged yet", null, {}],
  ["no rule matches it", { status: "left", rules: [], reason: "no rule matches it" }, {}],
  [
    "no rule matches it; only in shadow mode: Quiet",
    { key: "k", status: "left", rules: [], reason: "no rule matches it" },
    { shadow: new Map([["notification:k", "Quiet"]]) },
  ],
  ["waits until a person acknowledges alert #1", { word: "whenAcknowledged" }, {}],
  ["alert #1 has no receiver", {}, {}],
  ["alert #1 is held: silence 3 of ann", {}, { held: new Map([[1, "silence 3 of ann"]]) }],
  ["alert #1 is held: mute time nights", {}, { held: new Map([[1, "mute time nights"]]) }],
  [
    "alert #1 waits for mail",
    {},
    { items: new Map([[1, [item("chat", "delivered"), item("mail", "sealed")]]]) },
  ],
  [
    "alert #1 was given up by chat, mail",
    {},
    { items: new Map([[1, [item("chat", "dead"), item("mail", "dead")]]]) },
  ],
  ["is being judged", {}, { items: new Map([[1, [item("chat", "delivered")]]]) }],
  ["is being sent to the exchange", { status: "due" }, {}],
];

test.each(cases)("%s", (why, row, parts) => {
  expect(whyLeft(event(), row && acknowledgement(row), { ...nothing, ...parts })).toBe(why);
});

test("what was there before the first start says so", () => {
  expect(whyLeft(event({ backfilled: true }), null, nothing)).toBe("from before the first start");
});
