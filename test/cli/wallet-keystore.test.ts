/** `perpwatch wallet new, import, export, passphrase` on the keystore. */
import { chmodSync, chownSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { readKeystore } from "../../src/wallet/keystore-file.ts";
import { WalletKey, walletKeyFromText } from "../../src/wallet/wallet-key.ts";
import { type Desk, desk, plainConfig, run, runProcess } from "./run.ts";

const key = WalletKey.fromSeed(new Uint8Array(32).fill(81));
const other = WalletKey.fromSeed(new Uint8Array(32).fill(82));
const textOf = (one: WalletKey) => one.withKeypair((pair) => `[${[...pair].join(",")}]\n`);

function place(signer = "signer: { passphraseFile: ./passphrase }"): Desk {
  const at = desk();
  at.write("config.yaml", `${plainConfig}${signer}\n`);
  at.write("passphrase", "correct horse\n");
  return at;
}

const addresses = (at: Desk) => readKeystore(path.join(at.folder, "keystore.json"))!.addresses;

test("keys go in, and out again as key files", async () => {
  using at = place();
  const imported = await run(["wallet", "import"], { ...at, input: textOf(key) });
  expect(imported).toMatchObject({ status: 0, stderr: "" });
  // The configuration has a wallet main already.
  expect(imported.stdout).toContain(`wallets:\n  - { name: wallet-1, keystore: ${key.address} }`);
  expect(await run(["wallet", "import"], { ...at, input: textOf(other) })).toMatchObject({ status: 0 });
  // A second time it is there already.
  expect(await run(["wallet", "import"], { ...at, input: textOf(key) })).toMatchObject({ status: 0 });
  expect(addresses(at)).toEqual([key.address, other.address]);
  const made = (await run(["wallet", "new", "--json"], at)).json() as { authority: string };
  expect(addresses(at)).toEqual([key.address, other.address, made.authority]);

  const file = path.join(at.folder, "out.json");
  expect(await run(["wallet", "export", other.address, file], at)).toMatchObject({ status: 0 });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, "utf8")).toBe(textOf(other));
  expect(await run(["wallet", "export", other.address, file], at)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("exists already and is not overwritten"),
  });
  const unknown = await run(["wallet", "export", "8Xk4b2nUo7QwqVf3mT1pZr6cYh5dLs9eJg2aNu4iRt7K", file], at);
  expect(unknown).toMatchObject({ status: 2, stderr: expect.stringContaining(key.address) });
});

test("the name that is proposed for a wallet is free, or the one that was asked for", async () => {
  using at = place();
  const listing = (wallets: string) =>
    at.write(
      "config.yaml",
      `${plainConfig.replace(/wallets:\n.*\n/, `wallets: [${wallets}]\n`)}signer: { passphraseFile: ./passphrase }\n`,
    );
  const authority = "8Xk4b2nUo7QwqVf3mT1pZr6cYh5dLs9eJg2aNu4iRt7K";
  const proposed = async (one: WalletKey, ...words: string[]) => {
    const ran = await run(["wallet", "import", ...words], { ...at, input: textOf(one) });
    return /- \{ name: (\S+), /.exec(ran.stdout)?.[1] ?? ran.stderr;
  };
  listing(`{ name: elsewhere, authority: ${authority} }`);
  expect(await proposed(key)).toBe("main");
  // It may not stand in the configuration yet.
  expect(await proposed(other)).toBe("wallet-2");
  listing(`{ name: main, authority: ${authority} }, { name: wallet-2, keystore: ${key.address} }`);
  // It stands there already.
  const there = await run(["wallet", "import"], { ...at, input: textOf(key) });
  expect(there.stdout).toContain("already: wallet-2, by keystore:.");
  expect(await proposed(other)).toBe("wallet-3");
  expect(await proposed(other, "--name", "desk")).toBe("desk");
  expect(await proposed(other, "--name", "main")).toContain("has a wallet main already");
  expect(await proposed(other, "--name", "a b")).toContain('no wallet can be called "a b"');
});

test("another passphrase opens it from then on, the old one no longer", async () => {
  using at = place();
  await run(["wallet", "import"], { ...at, input: textOf(key) });
  at.write("new", "battery staple\n");
  const changed = await run(["wallet", "passphrase", "--new-file", "new"], at);
  expect(changed).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/Write it into .*passphrase as well/),
  });
  expect(await run(["wallet", "export", key.address, "out.json"], at)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("the passphrase does not open the keystore"),
  });
  at.write("passphrase", "battery staple");
  expect(await run(["wallet", "export", key.address, "out.json"], at)).toMatchObject({ status: 0 });
  expect(walletKeyFromText(readFileSync(path.join(at.folder, "out.json"), "utf8")).address).toBe(key.address);
});

test("the credential of a service manager is a passphrase, too", async () => {
  using at = place("");
  const credentials = desk();
  using _ = credentials;
  credentials.write("perpwatch-passphrase", "from the manager", 0o400);
  const env = { CREDENTIALS_DIRECTORY: credentials.folder };
  expect(await run(["wallet", "import"], { ...at, env, input: textOf(key) })).toMatchObject({ status: 0 });
  expect(await run(["wallet", "export", key.address, "out.json"], { ...at, env })).toMatchObject({
    status: 0,
  });
});

test.each<[string, (at: Desk) => void, string]>([
  ["that others can read", (at) => at.write("passphrase", "x", 0o644), "Fix: chmod 600"],
  ["that is empty", (at) => at.write("passphrase", "\n"), "is empty"],
])("a passphrase file %s is refused", async (_, spoil, said) => {
  using at = place();
  spoil(at);
  if (said.includes("chmod")) (await import("node:fs")).chmodSync(path.join(at.folder, "passphrase"), 0o644);
  const { status, stderr } = await run(["wallet", "import"], { ...at, input: textOf(key) });
  expect([status, stderr]).toEqual([1, expect.stringContaining(said)]);
  expect(readKeystore(path.join(at.folder, "keystore.json"))).toBeNull();
});

test("a secret that is none goes nowhere, and is not repeated", async () => {
  using at = place();
  const ran = await run(["wallet", "import"], { ...at, input: "hunter2hunter2" });
  expect(ran).toMatchObject({ status: 1, stdout: "" });
  expect(ran.stderr).not.toContain("hunter2");
  expect(readKeystore(path.join(at.folder, "keystore.json"))).toBeNull();
});

test("check says why nobody could sign in by the keystore, and notes keys in the clear", async () => {
  using at = place();
  await run(["wallet", "import"], { ...at, input: textOf(key) });
  at.write("main.json", textOf(other));
  const wallets = `[{ name: a, keystore: ${key.address} }, { name: b, keyFile: ./main.json }]`;
  at.write(
    "config.yaml",
    `${plainConfig.replace(/wallets:\n.*\n/, `wallets: ${wallets}\n`)}signer: { passphraseFile: ./passphrase }\n`,
  );
  const told = async () => (await run(["check"], at)).stdout;
  expect(await told()).not.toMatch(/warning/);
  expect(await told()).toContain(
    "note: the key of b lies in a file as it is; perpwatch wallet import puts it into the keystore",
  );
  at.write("passphrase", "another one");
  expect(await told()).toContain(
    "warning: no wallet of the keystore could sign in: the passphrase does not open the keystore",
  );
  rmSync(path.join(at.folder, "passphrase"));
  expect(await told()).toMatch(
    /warning: no wallet of the keystore could sign in: the passphrase .* does not exist/,
  );
});

describe("a key that is there already", () => {
  const configured = (at: Desk, wallet: string) =>
    at.write(
      "config.yaml",
      `${plainConfig.replace(/wallets:\n.*\n/, `wallets: [ ${wallet} ]\n`)}signer: { passphraseFile: ./passphrase }\n`,
    );
  const imported = (at: Desk, ...words: string[]) =>
    run(["wallet", "import", ...words], { ...at, input: textOf(key) });
  const line = (name: string) => `wallets:\n  - { name: ${name}, keystore: ${key.address} }\n`;

  test("in the keystore is not added again, and this is said", async () => {
    using at = place();
    expect((await imported(at)).stdout).toMatch(/The key is in \S+keystore\.json\. To watch it, add to/);
    const again = await imported(at);
    expect(again.stdout).toMatch(
      /keystore\.json has this key already; nothing was changed\. To watch it, add to the configuration:\n\nwallets:/,
    );
    configured(at, `{ name: desk, keystore: ${key.address} }`);
    const { stdout } = await imported(at, "--name", "other");
    expect(stdout).toMatch(/has this key already; nothing was changed\.\nThe configuration has this wallet/);
    expect(stdout).toContain("The configuration has this wallet already: desk, by keystore:.");
    expect(stdout).not.toContain("- { name:");
    expect((await imported(at, "--json")).json()).toMatchObject({ isNew: false, wallet: "desk" });
  });

  test("in a key file of the configuration moves to the keystore by a line in its place", async () => {
    using at = place();
    at.write("desk.json", textOf(key));
    configured(at, "{ name: desk, keyFile: ./desk.json }");
    const { stdout } = await imported(at);
    const file = path.join(at.folder, "desk.json");
    expect(stdout).toContain(`The configuration has this wallet already: desk, by keyFile: ${file}.`);
    expect(stdout).toContain(`write in its place:\n\n${line("desk")}`);
    expect(stdout).toContain(`Then remove ${file}: it is a second copy of the key`);
    expect(stdout).not.toContain("add to the configuration");
    expect(addresses(at)).toEqual([key.address]);
  });

  test("of a wallet that is only watched, or in the configuration itself, is told by its name", async () => {
    using at = place();
    configured(at, `{ name: desk, authority: ${key.address} }`);
    const { stdout } = await imported(at);
    expect(stdout).toContain("already: desk, without its key (authority:).");
    expect(stdout).toContain(`write in its place:\n\n${line("desk")}`);
    configured(at, `{ name: kept, secret: "${textOf(key).trim()}" }`);
    expect((await imported(at)).stdout).toContain("already: kept, by secret:.");
  });

  test("is told where it is written into a file", async () => {
    using at = place();
    await imported(at);
    configured(at, `{ name: desk, keystore: ${key.address} }`);
    const { stdout } = await imported(at, "copy.json");
    expect(stdout).toMatch(/keystore\.json has this key already: copy\.json is a second copy\./);
    expect(stdout).toContain("already: desk, by keystore:.");
    expect(stdout).not.toContain("- { name:");
    at.write("config.yaml", "wallets: [\n");
    expect(await imported(at, "more.json")).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("To watch it, add to config.yaml"),
    });
  });

  test("is told with its address where the name of the keystore leads in a circle", async () => {
    using at = place("signer: { keystore: ./circle }");
    symlinkSync("circle", path.join(at.folder, "circle"));
    expect(await imported(at, "copy.json")).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(`${key.address}\n\nThe key is in copy.json; only you can read it.`),
    });
    expect((await imported(at, "--json", "more.json")).json()).toMatchObject({ authority: key.address });
  });

  test("is told with its wallet where the keystore cannot be made out", async () => {
    using at = place();
    configured(at, `{ name: desk, authority: ${key.address} }`);
    symlinkSync("keystore.json", path.join(at.folder, "keystore.json"));
    const { status, stdout } = await imported(at, "copy.json");
    expect([status, stdout]).toEqual([0, expect.stringContaining("already: desk, without its key")]);
  });

  test("is told with its address to a user who may not enter the folder of the keystore", async () => {
    using at = place("signer: { keystore: ./closed/keystore.json }");
    const closed = path.join(at.folder, "closed");
    mkdirSync(closed);
    chmodSync(closed, 0);
    const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : null;
    if (nobody !== null)
      for (const name of ["", "config.yaml"]) chownSync(path.join(at.folder, name), nobody.uid, nobody.gid);
    const ran = await runProcess(["wallet", "import", "copy.json"], { ...at, ...nobody, input: textOf(key) });
    chmodSync(closed, 0o700);
    expect(ran).toMatchObject({
      status: 0,
      stderr: "",
      stdout: expect.stringContaining(`${key.address}\n\nThe key is in copy.json; only you can read it.`),
    });
    expect(readFileSync(path.join(at.folder, "copy.json"), "utf8")).toBe(textOf(key));
  });
});
