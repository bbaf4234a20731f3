/** Sessions of the page and tokens of programs. */

export const sql = `
-- Of a secret only its SHA-256 (hex) stands here.
CREATE TABLE access (
  hash TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  rights TEXT NOT NULL,
  created_ms REAL NOT NULL,
  expires_ms REAL,
  used_ms REAL
) STRICT, WITHOUT ROWID;
`;
