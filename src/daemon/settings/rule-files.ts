/** Reads `rules:` and `ruleOverrides:` into the rule set, from shipped packs and the user's files. */
import fs from "node:fs";
import path from "node:path";
import { z } from "zod";
import {
  type ConfigProblem,
  type ConfigSource,
  type ConfigWarning,
  type Path,
  readTextFile,
  type TextFileLimits,
} from "../../config/index.ts";
import { nearestName } from "../../domain/text/nearest.ts";
import { type LoadInput, loadRules, type RuleProblem, type RuleSet } from "../../rules/index.ts";
import { filesMatching, isPattern } from "./file-pattern.ts";

/** The known rule names, as far as the files could be read. */
export interface RuleNames {
  readonly names: readonly string[];
  /** Appended to the report of an unknown name. */
  readonly where: string;
}

export interface ReadRules {
  readonly ruleSet: RuleSet;
  /** Names of the files, as in `file` of rules. */
  readonly files: readonly string[];
  /** The files and overrides that the set was loaded from. */
  readonly texts: RuleTexts;
  /** JSON of all files and overrides, without values from the environment: equal for equal sets. */
  readonly text: string;
}

export type RuleTexts = Pick<LoadInput, "files" | "overrides">;

/** `shipped`: all packs of the program; `shipped:NAME`: one of them. */
const shippedPrefix = "shipped";
const limits: TextFileLimits = { largestBytes: 512 * 1_024 };
/** The packs belong to the program and are as trustworthy as it. */
const shippedLimits: TextFileLimits = { ...limits, from: "anyones" };
const patterns = z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]);
const ruleEnd = /\.ya?ml$/;
/** Rule tests are in the same folders as rules. */
const testEnd = /\.test\.ya?ml$/;

interface RuleFile {
  readonly name: string;
  readonly text: string;
}

const inReadableFiles = " in the rule files that could be read";

/**
 * @param shippedFolder the folder of the shipped packs
 * @returns only names after mistakes were reported
 */
export function readRules(
  source: ConfigSource,
  shippedFolder: string,
  input: Omit<LoadInput, "files" | "overrides">,
): ReadRules | RuleNames {
  const { files, complete } = readFiles(source, shippedFolder);
  const overrides = source.read(["ruleOverrides"], z.record(z.string(), z.unknown()), {});
  const texts: RuleTexts = { files, overrides: overrides ?? {} };
  const loaded = loadRules({ ...input, ...texts });
  if ("problems" in loaded) {
    const names = knownRuleNames(complete && loaded.hasAllNames, loaded.names, shippedFolder, input);
    for (const problem of loaded.problems) {
      const name = /^no rule is called (.*)$/.exec(problem.message)?.[1];
      if (name === undefined) reportProblem(source, problem);
      else if (!names.names.includes(name))
        reportProblem(source, {
          ...problem,
          message: `${problem.message}${names.where}`,
          nearest: nearestName(name, names.names),
        });
    }
    return names;
  }
  const { conditions, events } = loaded.ruleSet;
  const loadedNames = [...conditions, ...events].map(({ name }) => name);
  if (!complete || overrides === undefined)
    return knownRuleNames(complete, [...loadedNames, ...Object.keys(overrides ?? {})], shippedFolder, input);
  for (const warning of loaded.warnings) if (warning.silent === undefined) reportWarning(source, warning);
  for (const [wallet, rules] of silentRules(loaded.warnings)) {
    const index = Array.from({ length: source.length(["wallets"]) }, (_, i) => i).find(
      (i) => source.raw(["wallets", i, "name"]) === wallet,
    );
    source.warn(index === undefined ? ["wallets"] : ["wallets", index], silentText(wallet, rules));
  }
  return {
    ruleSet: loaded.ruleSet,
    files: files.map((file) => file.name),
    texts,
    text: JSON.stringify({ files, overrides: source.rawShown(["ruleOverrides"]) ?? {} }),
  };
}

/** While some files cannot be read, names of all shipped rules count as known. */
function knownRuleNames(
  isComplete: boolean,
  names: readonly string[],
  shippedFolder: string,
  input: Omit<LoadInput, "files" | "overrides">,
): RuleNames {
  if (isComplete) return { names, where: "" };
  const files = shippedPacks(shippedFolder).flatMap(({ name, path }) => {
    const read = readTextFile(path, shippedLimits);
    return "text" in read ? [{ name, text: read.text }] : [];
  });
  const loaded = loadRules({ ...input, files, overrides: {} });
  const shipped =
    "problems" in loaded
      ? loaded.names
      : [...loaded.ruleSet.conditions, ...loaded.ruleSet.events].map(({ name }) => name);
  return { names: [...new Set([...names, ...shipped])], where: inReadableFiles };
}

/** Converts a warning, with the suggested name. */
export function configWarningOf({ file, line, column, message, nearest }: RuleProblem): ConfigWarning {
  const hinted = nearest === null ? message : `${message} (did you mean ${nearest}?)`;
  return { file, line, column, path: "", message: hinted };
}

/** The rules that cannot apply to a wallet, by wallet: many rules have the same few wallets. */
export function silentRules(warnings: readonly RuleProblem[]): ReadonlyMap<string, readonly string[]> {
  const byWallet = new Map<string, string[]>();
  for (const { silent } of warnings)
    for (const wallet of silent?.wallets ?? [])
      byWallet.set(wallet, [...(byWallet.get(wallet) ?? []), silent!.rule]);
  return byWallet;
}

export function silentText(wallet: string, rules: readonly string[]): string {
  return `${wallet} is watch-only, and without a session there are no notifications: ${rules.join(", ")} cannot apply to it`;
}

/** Reports a mistake; one in an override gets its line in the configuration. */
function reportProblem(source: ConfigSource, { nearest, allowed, ...problem }: RuleProblem): void {
  const message = source.hide(problem.message);
  const [section, ...keys] = problem.file.split(".");
  if (problem.line === 0 && section === "ruleOverrides") {
    const at = [section, ...keys];
    // An unknown key or rule is reported at its key, a wrong value at its place.
    source.problem(at, message, { nearest, allowed, atKey: /^(unknown key|no rule)/.test(problem.message) });
    return;
  }
  source.add({ ...problem, message, path: "", nearest, allowed } satisfies ConfigProblem);
}

function reportWarning(source: ConfigSource, warning: RuleProblem): void {
  const converted = configWarningOf(warning);
  const [section, ...keys] = converted.file.split(".");
  if (converted.line === 0 && section === "ruleOverrides") source.warn([section, ...keys], converted.message);
  else source.addWarning(converted);
}

/** Reads the rule files; `complete` is false after a problem was reported. */
function readFiles(source: ConfigSource, shippedFolder: string): { files: RuleFile[]; complete: boolean } {
  const given = source.read(["rules"], patterns, shippedPrefix);
  const files: RuleFile[] = [];
  if (given === undefined) return { files, complete: false };
  const seen = new Set<string>();
  let complete = true;
  for (const [index, pattern] of [given].flat().entries()) {
    const at: Path = typeof given === "string" ? ["rules"] : ["rules", index];
    if (source.isBroken(at)) {
      complete = false;
      continue;
    }
    const found = filesOf(source, at, pattern, shippedFolder);
    if (found.length === 0) complete = false;
    for (const file of found) {
      const real = realPath(file.path);
      if (seen.has(real)) continue;
      seen.add(real);
      const read = readTextFile(
        file.path,
        file.name.startsWith(`${shippedPrefix}:`) ? shippedLimits : limits,
      );
      if ("text" in read) {
        files.push({ name: file.name, text: read.text });
      } else {
        complete = false;
        source.problem(at, source.hide(`${file.name} ${read.wrong}`));
      }
    }
  }
  return { files, complete };
}

interface Found {
  readonly name: string;
  readonly path: string;
}

/** @returns none after a problem was reported */
function filesOf(source: ConfigSource, at: Path, pattern: string, shippedFolder: string): Found[] {
  const shown = source.hide(pattern);
  if (pattern === shippedPrefix || pattern.startsWith(`${shippedPrefix}:`)) {
    const packs = shippedPacks(shippedFolder);
    const name = pattern.slice(shippedPrefix.length + 1);
    const found = name === "" ? packs : packs.filter((pack) => pack.name === `${shippedPrefix}:${name}`);
    if (found.length === 0) {
      const names = packs.map((pack) => pack.name);
      const message =
        packs.length === 0 ? `no rule packs are in ${shippedFolder}` : `no rule pack is called ${shown}`;
      source.problem(at, message, {
        allowed: [shippedPrefix, ...names],
        nearest: nearestName(pattern, names),
      });
    }
    return found;
  }
  const absolute = source.resolve(pattern);
  const stat = fs.statSync(absolute, { throwIfNoEntry: false });
  if (stat?.isDirectory() === true) {
    source.problem(at, `${shown} is a folder: name its files, as in ${path.posix.join(shown, "*.yaml")}`);
    return [];
  }
  if (stat !== undefined && testEnd.test(absolute)) {
    source.problem(at, `${shown} is a file of rule tests and holds no rules: perpwatch rules test runs it`);
    return [];
  }
  // The name of an existing file is taken literally, whatever characters it contains.
  const found = stat === undefined && isPattern(pattern) ? filesMatching(pattern, absolute) : null;
  if (found !== null && "wrong" in found) {
    source.problem(at, `${shown} ${source.hide(found.wrong)}`);
    return [];
  }
  const matches =
    found?.matches.filter((match) => !testEnd.test(match)) ?? (stat === undefined ? [] : [absolute]);
  if (matches.length === 0) {
    const message = isPattern(pattern) ? `no file matches ${shown}` : `${shown} does not exist`;
    source.problem(at, `${message} (looked for ${source.hide(absolute)})`, {
      nearest: nearestName(pattern, [shippedPrefix]),
    });
  }
  return matches.map((match) => ({ name: nameOf(source, match), path: match }));
}

function shippedPacks(folder: string): Found[] {
  let names: string[];
  try {
    names = fs.readdirSync(folder).filter((name) => ruleEnd.test(name) && !testEnd.test(name));
  } catch {
    names = [];
  }
  return names.sort().map((name) => ({
    name: `${shippedPrefix}:${name.replace(ruleEnd, "")}`,
    path: path.join(folder, name),
  }));
}

/** Names the file relative to the configuration's folder, as the configuration itself is named. */
function nameOf(source: ConfigSource, absolute: string): string {
  const relative = path.relative(source.folder, absolute);
  return relative.startsWith("..") || path.isAbsolute(relative)
    ? absolute
    : path.join(path.dirname(source.file), relative);
}

function realPath(file: string): string {
  try {
    return fs.realpathSync(file);
  } catch {
    return file;
  }
}
