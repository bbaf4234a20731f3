/** Files that are named by mistake, and hold secrets of something else: messages name them and quote nothing. */
import { chmodSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { desk, run } from "../cli/run.ts";

const files: readonly (readonly [what: string, text: string, secrets: readonly string[]])[] = [
  ["a keypair", "[12,34,56,78,90,12,34,56]", ["12,34", "56, 78"]],
  ["a secret in base58", "4wBqpZM9xaSheZzJSMawUHDgZ7miWfSsxmTVF5jJpYPqzz", ["4wBqp"]],
  [
    "passwords of the system",
    "root:$6$saltsalt$hashhash:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\n",
    ["salt", "hashhash"],
  ],
  ["an environment", "TOKEN=hunter2hunter2\nOTHER='hunter3'\n", ["hunter"]],
  ["another YAML", "smtp:\n  password: hunter2\n  - x\nanchor: &a hunter3\nalso: *b\n", ["hunter"]],
  ["JSON of something else", '{"password": "hunter2", "list": ["hunter3"]', ["hunter"]],
  [
    "a private key",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\nc2VjcmV0\n-----END OPENSSH PRIVATE KEY-----\n",
    ["b3Blb", "c2Vjcm"],
  ],
  ["a calendar of something else", "BEGIN:VCARD\nNOTE:hunter2\n hunter3\nEND:VCARD\n", ["hunter"]],
];

const configuration = (more: Partial<Record<"wallet" | "rules" | "channel", string>>): string =>
  [
    `wallets: [ { name: main, ${more.wallet ?? "authority: GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD"} } ]`,
    `rules: ${more.rules ?? "shipped"}`,
    `channels: { here: { type: console }, other: ${more.channel ?? "{ type: console }"} }`,
    "",
  ].join("\n");

const places: readonly (readonly [where: string, configuration: string | null])[] = [
  ["configuration", null],
  ["rules", configuration({ rules: "./given" })],
  ["key", configuration({ wallet: "keyFile: ./given" })],
  ["calendar of a rota", configuration({ channel: "{ type: rota, calendar: ./given, people: [here] }" })],
  [
    "certificate",
    configuration({
      channel: "{ type: email, smtp: { host: h, caFile: ./given }, from: a@b.example, to: [a@b.example] }",
    }),
  ],
];

describe.each(places)("named as %s", (_where, text) => {
  test.each(files)("%s", async (_what, content, secrets) => {
    using place = desk();
    place.write("given", content);
    place.write("config.yaml", text ?? "");
    for (const command of ["check", "status"]) {
      const words = text === null ? [command, "--config", "given"] : [command];
      const { stdout, stderr } = await run(words, place);
      if (command === "check" && !/certificate/.test(_where)) expect(stderr).toContain("given");
      for (const secret of secrets) expect(stdout + stderr).not.toContain(secret);
    }
  });
});

test("a file that may not be read is named", async () => {
  using place = desk();
  chmodSync(place.write("shadow", "root:$6$saltsalt$hashhash:19000:0\n"), 0o000);
  const { status, stderr } = await run(["check", "--config", "shadow"], place);
  expect(status).toBe(2);
  expect(stderr).toContain("shadow");
  expect(stderr).not.toContain("hashhash");
});
