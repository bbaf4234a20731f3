/** config.yaml for the services: the user's own, with the paths of history, keystore and socket set. */
import path from "node:path";
import { type Document, isMap, visit } from "yaml";
import { parsedYaml, tooManyParts } from "../../../domain/text/yaml.ts";
import { CommandFailed } from "../../command.ts";

export const serviceConfig = "/etc/perpwatch/config.yaml";
export const stateFolder = "/var/lib/perpwatch";
export const signerStateFolder = "/var/lib/perpwatch-signer";

const socketPath = "/run/perpwatch-signer/signer.sock";
/** The default keystore of the services. */
export const usualKeystore = `${signerStateFolder}/keystore.json`;
/** The section that lets the daemon use the signer service. */
export const signerSection = `signer: { socket: ${socketPath}, keystore: ${usualKeystore}, state: ${signerStateFolder} }`;

const placed = [
  { at: ["history", "path"], path: `${stateFolder}/perpwatch.db` },
  { at: ["signer", "socket"], path: socketPath },
  { at: ["signer", "keystore"], path: usualKeystore },
  { at: ["signer", "state"], path: signerStateFolder },
] as const;

export interface ServiceConfig {
  /** The text with its comments. */
  readonly text: string;
  /** Files with relative paths, which change in another folder: `./discord.token`. */
  readonly relativeFiles: readonly string[];
  /** Wallets with a key of their own instead of the keystore's: name or folder. */
  readonly keys: readonly string[];
  /** A wallet already uses a keystore, which the signer's user cannot read. */
  readonly hasStored: boolean;
}

/** @throws {CommandFailed} status 2 where it is not YAML */
export function configForService(text: string, file: string): ServiceConfig {
  const document = parsed(text, file);
  for (const { at, path: place } of placed) {
    const [section] = at;
    if (document.get(section) === null) document.delete(section);
    if (document.has(section) && !isMap(document.get(section)))
      throw new CommandFailed(`${file}: ${section} is no mapping of settings`, 2);
    document.setIn(at, place);
  }
  const list = walletsOf(document, file);
  const ofSigner = new Set<unknown>(
    list.flatMap(({ keyFile, keyDir, secretFile }) => [keyFile, keyDir, secretFile]),
  );
  // The services have another keystore with its own passphrase.
  const passphraseFile = document.getIn(["signer", "passphraseFile"]);
  if (typeof passphraseFile === "string" && isRelative(passphraseFile))
    document.deleteIn(["signer", "passphraseFile"]);
  const relativeFiles: string[] = [];
  visit(document, {
    Scalar(key, { value }) {
      // Keys are moved into the keystore.
      if (ofSigner.has(value)) return;
      if (key !== "key" && typeof value === "string" && isRelative(value)) relativeFiles.push(value);
    },
  });
  const keys = list.flatMap(({ name, keyFile, keyDir, secret, secretFile }) => {
    if (keyDir !== undefined) return [String(keyDir)];
    return [keyFile, secret, secretFile].every((one) => one === undefined) ? [] : [String(name)];
  });
  const hasStored = list.some(({ keystore }) => keystore !== undefined);
  return {
    text: document.toString({ lineWidth: 0 }),
    relativeFiles: [...new Set(relativeFiles)],
    keys,
    hasStored,
  };
}

const isRelative = (name: string): boolean => /^(\.{1,2}|~)\//.test(name);

function walletsOf(document: Document, file: string): readonly Readonly<Record<string, unknown>>[] {
  const list = (plainOf(document, file) as { readonly wallets?: unknown } | null)?.wallets;
  return (Array.isArray(list) ? list : []).map(
    (one: unknown) => (one ?? {}) as Readonly<Record<string, unknown>>,
  );
}

export interface SignerPart {
  /** The path of the keystore. */
  readonly keystore: string;
  /** The configuration names a file with the passphrase. */
  readonly ownPassphrase: boolean;
  /** The daemon connects to a separate signer. */
  readonly isApart: boolean;
}

/** @param file the path of the configuration, to which other paths are relative */
export function signerPart(text: string, file: string): SignerPart {
  const signer = (plainOf(parsed(text, file), file) as { readonly signer?: unknown } | null)?.signer;
  const {
    keystore = "keystore.json",
    passphraseFile,
    socket,
  } = (signer ?? {}) as Readonly<Record<string, unknown>>;
  return {
    keystore: path.resolve(path.dirname(file), String(keystore)),
    ownPassphrase: passphraseFile !== undefined,
    isApart: socket !== undefined,
  };
}

/** @throws {CommandFailed} with places only: a file that is no configuration may contain a secret */
function parsed(text: string, file: string): Document {
  const document = parsedYaml(text, {});
  if (document === null) throw new CommandFailed(`${file}: ${tooManyParts}`, 2);
  const [problem] = document.errors;
  if (problem !== undefined)
    throw new CommandFailed(`${file}:${problem.linePos?.[0].line ?? 1}: is not YAML`, 2);
  if (document.contents !== null && !isMap(document.contents))
    throw new CommandFailed(`${file}: the configuration is no mapping of settings`, 2);
  return document;
}

function plainOf(document: Document, file: string): unknown {
  try {
    return document.toJS();
  } catch {
    throw new CommandFailed(
      `${file}: is not YAML that can be read: an alias without its anchor, or too many of them`,
      2,
    );
  }
}
