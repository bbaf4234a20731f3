/** The section of the status page: accepted and refused settings. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { formatConfigProblem, formatConfigWarning, settingsFromText } from "../../src/daemon/settings.ts";
import { hashPassword } from "../../src/web/access/password.ts";
import { type ConfigFolder, configFolder, rest } from "./config-folder.ts";

const fixture = (name: string) => readFileSync(new URL(`../web/fixtures/${name}`, import.meta.url), "utf8");

function read(dashboard: string, at: ConfigFolder) {
  return settingsFromText(`dashboard: ${dashboard}\n${rest}`, {
    file: "config.yaml",
    folder: at.path,
    env: {},
  });
}

function settings(dashboard: string, at: ConfigFolder) {
  const result = read(dashboard, at);
  if ("problems" in result) throw new Error(result.problems.map(formatConfigProblem).join("\n"));
  return { dashboard: result.settings.dashboard, warnings: result.warnings.map(formatConfigWarning) };
}

function problems(dashboard: string, at: ConfigFolder): readonly string[] {
  const result = read(dashboard, at);
  return "problems" in result ? result.problems.map(({ path, message }) => `${path}: ${message}`) : [];
}

/** Files of a certificate and its key. */
function files(at: ConfigFolder, cert = "first", key = cert): string {
  at.write("page.crt", fixture(`${cert}-test-only.crt`));
  at.write("page.key", fixture(`${key}-test-only.key`));
  return "tls: { certFile: page.crt, keyFile: page.key }";
}

test("by default it is on loopback and needs a login", () => {
  using at = configFolder();
  const usual = {
    ...{ host: "127.0.0.1", port: 8787, login: "always", passwordHash: null, tls: null },
    ...{ behindProxy: false, allowedHosts: [] },
  };
  expect(settings("{}", at)).toEqual({ dashboard: usual, warnings: [] });
  expect(settings('{ listen: "localhost:0" }', at).dashboard).toEqual({
    ...usual,
    host: "localhost",
    port: 0,
  });
  expect(settings('{ listen: "[::1]:80" }', at).dashboard).toEqual({ ...usual, host: "::1", port: 80 });
  expect(settings('{ listen: "off" }', at).dashboard).toBeNull();
});

test("login: never is accepted on loopback, with a warning", () => {
  using at = configFolder();
  const { dashboard, warnings } = settings("{ login: never }", at);
  expect(dashboard?.login).toBe("never");
  expect(warnings).toEqual([
    expect.stringMatching(
      /config\.yaml:1: with never, every user and program of this machine can read the status page/,
    ),
  ]);
});

describe("beyond loopback", () => {
  test("it is taken with TLS, or behind a proxy under a name", () => {
    using at = configFolder();
    const tls = files(at);
    const own = settings(`{ listen: "192.168.1.5:8787", ${tls} }`, at);
    expect(own.warnings).toEqual([]);
    expect(own.dashboard).toMatchObject({ host: "192.168.1.5", allowedHosts: [] });
    expect(own.dashboard?.tls?.cert).toMatch(/^-----BEGIN CERTIFICATE/);
    const proxied = '{ listen: "10.0.0.5:80", behindProxy: true, allowedHosts: [watch.example.org] }';
    const behind = settings(proxied, at);
    expect(behind.dashboard).toMatchObject({ allowedHosts: ["watch.example.org"] });
    expect(behind.warnings).toEqual([
      expect.stringMatching(/whoever reaches 10\.0\.0\.5 without the proxy .*let the proxy alone reach it/),
    ]);
    expect(settings(`{ listen: "0.0.0.0:443", ${tls}, allowedHosts: [a.example.org] }`, at).warnings).toEqual(
      [],
    );
  });

  test.each([
    ['{ listen: "0.0.0.0:80" }', /^dashboard\.listen: 0\.0\.0\.0 is beyond this machine.*add tls/],
    ['{ listen: "192.168.1.5:80" }', /^dashboard\.listen: 192\.168\.1\.5 is beyond this machine/],
    ['{ listen: "watch.example.org:80", login: never, TLS }', /^dashboard\.login: never is for a page/],
    ["{ behindProxy: true, login: never, allowedHosts: [a.b] }", /^dashboard\.login: never is for a page/],
    ["{ behindProxy: true }", /^dashboard\.behindProxy: name the hosts/],
    ['{ listen: "0.0.0.0:443", TLS }', /^dashboard\.listen: 0\.0\.0\.0 is every address.*allowedHosts/],
    ['{ listen: "[::]:443", TLS }', /^dashboard\.listen: :: is every address/],
    ["{ TLS, behindProxy: true, allowedHosts: [a.b] }", /tls and behindProxy exclude each other/],
    ["{ allowedHosts: [https://a.b] }", /^dashboard\.allowedHosts\[0\]: expected the name of a host/],
    ['{ allowedHosts: ["a.b:80"] }', /without a port/],
  ])("%s is refused", (dashboard, told) => {
    using at = configFolder();
    expect(problems(dashboard.replace("TLS", files(at)), at)).toContainEqual(expect.stringMatching(told));
  });
});

describe("a certificate", () => {
  test.each([
    ["that is none", "page.crt", "none", /^dashboard\.tls\.cert: expected a certificate in PEM/],
    ["with a key that is none", "page.key", "none", /^dashboard\.tls\.key: expected a private key in PEM/],
    [
      "with another's key",
      "page.key",
      fixture("second-test-only.key"),
      /^dashboard\.tls\.key: is not the key of this certificate/,
    ],
  ])("%s is refused", (_name, file, text, told) => {
    using at = configFolder();
    const tls = files(at);
    at.write(file, text);
    expect(problems(`{ ${tls} }`, at)).toEqual([expect.stringMatching(told)]);
  });

  test("whose file is missing, or whose key others can read, is refused", () => {
    using at = configFolder();
    const tls = files(at);
    at.write("page.key", fixture("first-test-only.key"), 0o644);
    expect(problems(`{ ${tls} }`, at)).toEqual([
      expect.stringMatching(/^dashboard\.tls\.keyFile: .*chmod 600/),
    ]);
    expect(problems("{ tls: { certFile: none.crt, keyFile: none.key } }", at)).toHaveLength(2);
  });

  test("that has expired is accepted with a warning: it does not prevent monitoring", () => {
    using at = configFolder();
    const tls = files(at, "ended", "first");
    expect(settings(`{ ${tls} }`, at).warnings).toEqual([
      expect.stringMatching(/the certificate (has ended|ends) on .*: renew it/),
    ]);
  });
});

describe("a password's hash", () => {
  test("is taken as it is printed, from a file, too", async () => {
    using at = configFolder();
    const hash = await hashPassword("correct horse battery");
    expect(settings(`{ passwordHash: "${hash}" }`, at).dashboard?.passwordHash).toBe(hash);
    at.write("page-password", `${hash}\n`);
    expect(settings("{ passwordHashFile: page-password }", at).dashboard?.passwordHash).toBe(hash);
  });

  const [salt, hash] = ["A".repeat(22), "B".repeat(43)];
  test.each([
    ["a password in clear", "correct horse battery"],
    ["too little work", `scrypt$2$1$1$${salt}$${hash}`],
    ["too much memory", `scrypt$1048576$8$1$${salt}$${hash}`],
    ["too many rounds", `scrypt$32768$8$17$${salt}$${hash}`],
    ["a cost that is no power of two", `scrypt$32767$8$3$${salt}$${hash}`],
    ["a hash that is cut", `scrypt$32768$8$3$${salt}$${hash.slice(5)}`],
  ])("with %s is refused, and not repeated", (_name, text) => {
    using at = configFolder();
    const told = problems(`{ passwordHash: "${text}" }`, at);
    expect(told).toEqual([
      expect.stringMatching(/^dashboard\.passwordHash: expected what perpwatch page password prints/),
    ]);
    expect(told.join()).not.toContain(text);
  });
});
