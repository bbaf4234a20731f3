/** Certificates are checked by each command, independent of the environment. */
import { writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { selfSigned } from "../support/certificate.ts";
import { startProgram } from "../support/program.ts";
import { desk } from "./run.ts";

const { key, cert } = selfSigned();
let asked = 0;
const server = createServer({ key, cert }, (_request, response) => {
  asked++;
  response.writeHead(500).end();
});
beforeAll(() => new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening)));
afterAll(() => void server.close());

/** Connects to a server with an untrusted certificate. */
async function ask(env: Readonly<Record<string, string>>) {
  using place = desk();
  const ca = path.join(place.folder, "ca.pem");
  writeFileSync(ca, cert);
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const filled = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value || ca]));
  await using ran = startProgram(["api", "markets", "--url", url], { folder: place.folder, env: filled });
  await ran.ended;
  return [...ran.stderr, ...ran.stdout].join("\n");
}

test.each([{}, { NODE_TLS_REJECT_UNAUTHORIZED: "0" }])("a foreign certificate with %j", async (env) => {
  const before = asked;
  const told = await ask(env);
  expect(told).toMatch(/self-signed certificate|DEPTH_ZERO_SELF_SIGNED_CERT/);
  expect(asked).toBe(before);
  expect(told.includes("NODE_TLS_REJECT_UNAUTHORIZED=0 is ignored")).toBe(
    env.NODE_TLS_REJECT_UNAUTHORIZED === "0",
  );
});

test("one of your own that NODE_EXTRA_CA_CERTS names is taken", async () => {
  const before = asked;
  expect(await ask({ NODE_EXTRA_CA_CERTS: "" })).toMatch(/500/);
  expect(asked).toBeGreaterThan(before);
});
