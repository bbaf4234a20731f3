/** The input of the watch, stored for replay. */
export const sql = `
-- In the order of feeding. \`at_ms\` is the newest time up to and with the row; \`fresh\` marks a row that can be read
-- without those before it, which those after it need. \`body\` is as recording-format.ts says.
CREATE TABLE recording (
  id INTEGER PRIMARY KEY,
  at_ms REAL NOT NULL,
  fresh INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE INDEX recording_sections ON recording (at_ms) WHERE fresh = 1;
`;
