/** Incidents at on-call services: one for each account and receiver, from its first alert to the end of its last. */
import { expect, test } from "vitest";
import { OnCall } from "../../src/alerts/incidents/on-call.ts";

const day = 86_400_000;

function world() {
  const kept = new Map<string, string>();
  const keep = (onCall: OnCall) => {
    for (const { name, value } of onCall.unkept()) {
      if (value === null) kept.delete(name);
      else kept.set(name, value);
    }
  };
  /** After a restart. */
  const restarted = (before: OnCall) => {
    keep(before);
    const onCall = new OnCall();
    onCall.restore(new Map(kept));
    return onCall;
  };
  return { kept, keep, restarted };
}

const main = "main/0.0";

test("alerts of an account share one until the last is over, over restarts and reloads; other accounts and receivers have theirs", () => {
  const { restarted } = world();
  let onCall = new OnCall();
  for (const [receiver, account, id] of [
    ["pd", main, 1],
    ["pd", main, 2],
    ["pd", "main/0.1", 3],
    ["other", main, 2],
  ] as const)
    onCall.join(receiver, account, { id });
  onCall = new OnCall(restarted(onCall));
  expect(onCall.of("pd", 1)).toEqual({ account: main, first: 1, more: true });
  expect(onCall.of("pd", 2)).toEqual({ account: main, first: 1, more: true });
  expect(onCall.of("pd", 3)).toEqual({ account: "main/0.1", first: 3, more: false });
  expect(onCall.of("other", 2)).toEqual({ account: main, first: 2, more: false });
  expect(onCall.of("pd", 9)).toBeUndefined();
  onCall.over(1);
  expect(restarted(onCall).of("pd", 2)).toEqual({ account: main, first: 1, more: false });
});

test("an end that is held finds its own, and what fired since has another key", () => {
  const { restarted, keep, kept } = world();
  const onCall = new OnCall();
  onCall.join("pd", main, { id: 1 });
  onCall.over(1);
  onCall.join("pd", main, { id: 5 });
  expect(onCall.of("pd", 1)).toEqual({ account: main, first: 1, more: false });
  expect(onCall.of("pd", 5)).toEqual({ account: main, first: 5, more: false });
  onCall.sweep(0);
  onCall.sweep(3 * day);
  expect(restarted(onCall).of("pd", 1)).toMatchObject({ first: 1 });
  onCall.sweep(8 * day);
  keep(onCall);
  expect([...kept.keys()]).toEqual(["oncall/pd\n5"]);
  expect(onCall.of("pd", 1)).toBeUndefined();
});
