/**
 * True for a Node that runs perpwatch: 22.18 and later of line 22, and 24 on (line 23 ended before its time). Before that,
 * .ts files and newer libraries do not load, and better-sqlite3 takes the whole process down when it opens a database. The
 * launcher asks the same question in plain JavaScript; a test holds the two answers together.
 */
export function supportsNode(version: string): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, "").split(".").map(Number);
  return major === 22 ? minor >= 18 : major >= 24;
}
