/**
 * Finds files that match a pattern such as `./my-rules/*.yaml`, within the folder in which the pattern begins, up to
 * limits.
 */
import fs from "node:fs";
import path from "node:path";

/** `matches`: absolute paths in order, without folders. `wrong`: the end of a sentence that begins with the pattern. */
export type Matches = { readonly matches: readonly string[] } | { readonly wrong: string };

/** Limits of one search. */
const maxEntries = 10_000;
const maxDepth = 16;
const maxMatches = 1_000;
const wildcards = /[*?[{]/;
const systemTree = /^\/(proc|sys|dev)(\/|$)/;

export function isPattern(name: string): boolean {
  return wildcards.test(name);
}

/**
 * @param name the pattern as configured
 * @param absolute the same pattern as an absolute path
 */
export function filesMatching(name: string, absolute: string): Matches {
  if (name.split(/[/\\]/).includes(".."))
    return { wrong: "leaves its folder by ..: begin it with the folder's whole path, or name the files" };
  const folder = folderOf(absolute);
  if (systemTree.test(`${folder}/`)) return { wrong: "would look among the files of the system itself" };
  let found: string[];
  try {
    found = globWithinLimits(absolute, folder);
  } catch (error) {
    if (error instanceof TooManyEntries) return { wrong: error.message };
    throw error;
  }
  const matches = found.filter((one) => fs.statSync(one, { throwIfNoEntry: false })?.isDirectory() !== true);
  if (matches.length > maxMatches)
    return { wrong: `matches ${matches.length} files, at most ${maxMatches} are allowed: name fewer` };
  const outside = matches.find((one) => !isWithin(realPath(path.dirname(one)), realPath(folder)));
  if (outside !== undefined)
    return { wrong: `leaves its folder, to ${outside}: name that folder or file itself` };
  return { matches: matches.sort() };
}

class TooManyEntries extends Error {}

function globWithinLimits(absolute: string, folder: string): string[] {
  const depthOf = (one: string) => one.split(path.sep).length;
  let entries = 0;
  const found = fs.globSync(absolute, {
    withFileTypes: true,
    exclude({ parentPath, name }) {
      const entry = path.join(parentPath, name);
      if (++entries > maxEntries)
        throw new TooManyEntries(
          `does not end: more than ${maxEntries} entries are below ${folder}; begin it deeper`,
        );
      if (depthOf(entry) - depthOf(folder) > maxDepth)
        throw new TooManyEntries(`does not end: ${entry} is more than ${maxDepth} folders below ${folder}`);
      return false;
    },
  });
  return [...new Set(found.map(({ parentPath, name }) => path.join(parentPath, name)))];
}

/** The folders before the first wildcard. */
function folderOf(absolute: string): string {
  const parts = absolute.split(path.sep);
  const first = parts.findIndex((part) => wildcards.test(part));
  return parts.slice(0, first).join(path.sep) || path.sep;
}

function isWithin(one: string, folder: string): boolean {
  const relative = path.relative(folder, one);
  return relative === "" || (!relative.startsWith("..") && !path.isAbsolute(relative));
}

function realPath(file: string): string {
  try {
    return fs.realpathSync(file);
  } catch {
    return file;
  }
}
