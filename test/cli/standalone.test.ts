/** Commands without a daemon sign what the daemon's database trusts, and change nothing there. */
import path from "node:path";
import { expect, test } from "vitest";
import { memorySessions } from "../../src/cli/standalone.ts";
import { openStore } from "../../src/history/index.ts";
import { desk } from "./run.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("trusted forms of login are those of the database, sessions are not", async () => {
  using place = desk();
  const file = path.join(place.folder, "perpwatch.db");
  expect(await memorySessions(file).load(":login-form")).toBeNull();
  const store = openStore({ path: file });
  await store.save(":login-form", bytes("Log in {address} {nonce hex}"));
  await store.save("main", bytes("sealed"));
  await store.close();
  const sessions = memorySessions(file);
  expect(Buffer.from((await sessions.load(":login-form"))!).toString()).toBe("Log in {address} {nonce hex}");
  expect(await sessions.load("main")).toBeNull();
  expect(await memorySessions(null).load(":login-form")).toBeNull();
  await sessions.save(":login-form", bytes("another"));
  expect(Buffer.from((await sessions.load(":login-form"))!).toString()).toBe("another");
  const again = openStore({ path: file, readonly: true });
  expect(Buffer.from((await again.load(":login-form"))!).toString()).toBe("Log in {address} {nonce hex}");
  await again.close();
});
