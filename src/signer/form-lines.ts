/** Lines of forms for people: each character as it is, and the first line in which two forms differ. */

/** Characters of a line in a sentence. */
const maxShown = 80;
/** So many of these at most show what both lines begin with. */
const maxAlike = 30;

/** Printable ASCII. Letters that look like others, whatever does not print, and spaces at the end are written as their numbers. */
export function exactLine(line: string): string {
  return line.replaceAll(/[^\x20-\x7e]| +$/gu, (some) =>
    [...some].map((one) => `\\u{${one.codePointAt(0)!.toString(16)}}`).join(""),
  );
}

/** @returns the first line in which a form differs from the trusted one, as a part of a sentence; its dots make no link in a chat */
export function firstDifference(trusted: string, now: string): string {
  const [before, after] = [trusted.split("\n"), now.split("\n")];
  let index = 0;
  while (before[index] === after[index] && index < before.length) index += 1;
  const [was, is] = [before[index], after[index]];
  const line = `line ${index + 1}`;
  if (was === undefined) return `${line} is added: ${excerpt(is ?? "", 0)}`;
  if (is === undefined) return `${line} is missing, it was ${excerpt(was, 0)}`;
  const from = alike(was, is);
  return `${line} was ${excerpt(was, from)} and is ${excerpt(is, from)}`;
}

/** @returns the number of characters that both begin with */
function alike(one: string, other: string): number {
  let count = 0;
  while (count < one.length && one[count] === other[count]) count += 1;
  return count;
}

/** @param differsAt the part around it is what remains of a long line */
function excerpt(line: string, differsAt: number): string {
  const start = line.length <= maxShown ? 0 : Math.max(0, differsAt - maxAlike);
  const exact = exactLine(line.slice(start)).replaceAll(".", "[.]");
  const characters = exact.match(/\\u\{[\da-f]+\}|\[\.\]|./g) ?? [];
  let shown = "";
  while (characters.length > 0 && shown.length + characters[0]!.length <= maxShown)
    shown += characters.shift();
  return `"${start > 0 ? "…" : ""}${shown}${characters.length > 0 ? "…" : ""}"`;
}
