/** `rules:` and `ruleOverrides:` → the rule set, from the packs that ship and from files of one's own. */
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
import { nearestName } from "../../domain/nearest.ts";
import { type LoadInput, loadRules, type RuleProblem, type RuleSet } from "../../rules/index.ts";
import { filesMatching, isPattern } from "./file-pattern.ts";

/** The names of rules that there are, as far as the files could be read. */
export interface RuleNames {
  readonly names: readonly string[];
  /** Said of a name that is not among them. */
  readonly where: string;
}

export interface ReadRules {
  readonly ruleSet: RuleSet;
  /** Names of the files, as rules carry them. */
  readonly files: readonly string[];
  /** The files and overrides that it was loaded from. */
  readonly texts: RuleTexts;
  /** JSON of all files and overrides, without what came from the environment: equal for equal sets. */
  readonly text: string;
}

export type RuleTexts = Pick<LoadInput, "files" | "overrides">;

/** `shipped`: every pack that comes with the program; `shipped:NAME`: one of them. */
const shippedWord = "shipped";
const limits: TextFileLimits = { largestBytes: 512 * 1_024 };
/** Part of the program, as trustworthy as it. */
const shippedLimits: TextFileLimits = { ...limits, from: "anyones" };
const patterns = z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]);
const ruleEnd = /\.ya?ml$/;
/** Rule tests stand beside rules. */
const testEnd = /\.test\.ya?ml$/;

interface RuleFile {
  readonly name: string;
  readonly text: string;
}

const somewhere = " in the rule files that could be read";

/**
 * @param shippedFolder where the packs are that come with the program
 * @returns names alone where there are mistakes, which are told
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
    const names = namesWhere(complete && loaded.hasAllNames, loaded.names, shippedFolder, input);
    for (const problem of loaded.problems) {
      const name = /^no rule is called (.*)$/.exec(problem.message)?.[1];
      if (name === undefined) tell(source, problem);
      else if (!names.names.includes(name))
        tell(source, {
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
    return namesWhere(complete, [...loadedNames, ...Object.keys(overrides ?? {})], shippedFolder, input);
  for (const warning of loaded.warnings) if (warning.silent === undefined) tellWarning(source, warning);
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

/** While some files could not be read, a rule that ships may be meant, whichever packs are named. */
function namesWhere(
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
  return { names: [...new Set([...names, ...shipped])], where: somewhere };
}

/** With what may have been meant. */
export function configWarningOf({ file, line, column, message, nearest }: RuleProblem): ConfigWarning {
  const hinted = nearest === null ? message : `${message} (did you mean ${nearest}?)`;
  return { file, line, column, path: "", message: hinted };
}

/** The rules that cannot apply to a wallet, by the wallet: many rules are silent for the same few wallets. */
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

/** A mistake in an override stands in the configuration: it gets its line there. */
function tell(source: ConfigSource, { nearest, allowed, ...problem }: RuleProblem): void {
  const message = source.hide(problem.message);
  const [section, ...keys] = problem.file.split(".");
  if (problem.line === 0 && section === "ruleOverrides") {
    const at = [section, ...keys];
    // An unknown key or rule is known by its key, a wrong value by its place.
    source.problem(at, message, { nearest, allowed, atKey: /^(unknown key|no rule)/.test(problem.message) });
    return;
  }
  source.add({ ...problem, message, path: "", nearest, allowed } satisfies ConfigProblem);
}

function tellWarning(source: ConfigSource, warning: RuleProblem): void {
  const told = configWarningOf(warning);
  const [section, ...keys] = told.file.split(".");
  if (told.line === 0 && section === "ruleOverrides") source.warn([section, ...keys], told.message);
  else source.addWarning(told);
}

/** Those that can be read; `complete` unless something else was named too, which is told. */
function readFiles(source: ConfigSource, shippedFolder: string): { files: RuleFile[]; complete: boolean } {
  const given = source.read(["rules"], patterns, shippedWord);
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
      const read = readTextFile(file.path, file.name.startsWith(`${shippedWord}:`) ? shippedLimits : limits);
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

/** @returns none when nothing matches, which is told. */
function filesOf(source: ConfigSource, at: Path, pattern: string, shippedFolder: string): Found[] {
  const shown = source.hide(pattern);
  if (pattern === shippedWord || pattern.startsWith(`${shippedWord}:`)) {
    const packs = shippedPacks(shippedFolder);
    const name = pattern.slice(shippedWord.length + 1);
    const found = name === "" ? packs : packs.filter((pack) => pack.name === `${shippedWord}:${name}`);
    if (found.length === 0) {
      const names = packs.map((pack) => pack.name);
      const message =
        packs.length === 0 ? `no rule packs are in ${shippedFolder}` : `no rule pack is called ${shown}`;
      source.problem(at, message, { allowed: [shippedWord, ...names], nearest: nearestName(pattern, names) });
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
  // A name that is there is taken as it is, whatever characters are in it.
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
      nearest: nearestName(pattern, [shippedWord]),
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
  return names
    .sort()
    .map((name) => ({ name: `${shippedWord}:${name.replace(ruleEnd, "")}`, path: path.join(folder, name) }));
}

/** Named from where the configuration is named, so that a person can open it from there too. */
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
