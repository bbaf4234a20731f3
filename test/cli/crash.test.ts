/** Errors that end the process: parts that may contain a secret are not printed. */
import { expect, test } from "vitest";
import { crashText } from "../../src/cli/start/crash.ts";

const secret = "s3cretOfSomeLength";

test("prints kind, code and stack frames, but not message, properties, cause or frames in the message", () => {
  const error = Object.assign(
    new TypeError(`${secret}\n    at ${secret} (file:///x:1:1)\n    at ${secret}`),
    {
      ...{ code: "ERR_INVALID_URL", input: secret, cause: new Error(secret) },
    },
  );
  const text = crashText(error);
  expect(text).toMatch(
    /^ended by an error that nobody expected: TypeError ERR_INVALID_URL at .*crash\.test\.ts:\d+:\d+/,
  );
  expect(text).not.toContain(secret);
  const other = new Error("first");
  expect(other.stack).toContain("first");
  other.message = "changed";
  expect(crashText(other)).toBe("ended by an error that nobody expected: Error");
});

test.each([
  ["an error by another name", Object.assign(new Error("x"), { name: secret, code: secret, stack: secret })],
  ["a text", secret],
  ["an object", { name: secret, code: 5, stack: { toString: 1 } }],
  ["nothing", undefined],
])("%s is printed as such", (_what, thrown) => {
  expect(crashText(thrown)).toBe("ended by an error that nobody expected: something that is no error");
});
