// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is the configuration's own syntax.
import { expect, test } from "vitest";
import { formatConfigProblem, settingsFromText } from "../../src/daemon/settings.ts";
import { configFolder, rest } from "../config/config-folder.ts";

function read(text: string, env: Record<string, string> = {}) {
  using at = configFolder();
  at.write("rpc-url", "https://rpc.example/v2/key-in-a-file\n");
  const result = settingsFromText(`${rest}${text}`, { file: "config.yaml", folder: at.path, env });
  return "problems" in result ? result.problems.map(formatConfigProblem) : result.settings.ledger;
}

test("a ledger is asked where one is named, and nowhere otherwise", () => {
  expect(read("")).toBeNull();
  expect(read("ledger: { rpcUrl: https://rpc.example/v2/key?x=1 }")).toEqual({
    rpcUrl: "https://rpc.example/v2/key?x=1",
  });
  expect(read("ledger: { rpcUrl: http://127.0.0.1:8899/rpc }")).toEqual({
    rpcUrl: "http://127.0.0.1:8899/rpc",
  });
  expect(read("ledger: { rpcUrl: ${RPC} }", { RPC: "https://rpc.example" })).toEqual({
    rpcUrl: "https://rpc.example",
  });
  expect(read("ledger: { rpcUrlFile: rpc-url }")).toEqual({ rpcUrl: "https://rpc.example/v2/key-in-a-file" });
});

test.each([
  ["ledger: {}", /ledger\.rpcUrl/],
  ["ledger: { rpcUrl: rpc.example/secret-key }", /ledger\.rpcUrl: has to be a URL/],
  ["ledger: { rpcUrl: http://rpc.example/secret-key }", /has to begin with https:\/\/ \(http/],
  ["ledger: { rpcUrl: wss://rpc.example/secret-key }", /has to begin with https/],
  ["ledger: { rpcUrl: https://ann:secret-key@rpc.example }", /user name or password/],
  ["ledger: { rpcUrl: https://rpc.example, token: secret-key }", /token/],
])("%s is refused, and its address is not repeated", (text, said) => {
  const problems = read(text);
  expect(problems).toEqual([expect.stringMatching(said)]);
  expect(String(problems)).not.toContain("secret-key");
});
