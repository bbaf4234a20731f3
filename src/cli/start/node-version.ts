/**
 * Returns true for a Node that can run perpwatch: 22.18 and later of line 22, and 24 and later (line 23 ended earlier).
 * Older ones cannot load .ts files and newer libraries, and better-sqlite3 crashes the process when it opens a
 * database. The launcher has the same check in plain JavaScript; a test compares both.
 */
export function supportsNode(version: string): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, "").split(".").map(Number);
  return major === 22 ? minor >= 18 : major >= 24;
}
