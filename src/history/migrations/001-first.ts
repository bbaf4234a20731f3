/**
 * The first shape of the database. Times are ms since the epoch in REAL columns (SQLite keeps whole ones as integers on
 * disk), so that no clock's fraction is lost or refused. Rows that are read and written whole are one JSON text beside
 * the columns that questions are asked by.
 */
import { applicationId } from "../application.ts";

export const sql = `
PRAGMA application_id = ${applicationId};

-- One row: when the last commit was made, and up to where the tick log has been packed into chunks.
CREATE TABLE pulse (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  alive_ms REAL,
  packed_to INTEGER NOT NULL
) STRICT;
INSERT INTO pulse VALUES (1, NULL, 0);

CREATE TABLE owners (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
-- The names of the series of a tick, a JSON array: a tick names its layout instead of its series.
CREATE TABLE layouts (id INTEGER PRIMARY KEY, series TEXT NOT NULL UNIQUE) STRICT;

-- The tick log: what came last, in the order of arrival. Append only at its end, so a commit touches few pages however
-- many wallets there are. Values are float64, little-endian, one after the other.
CREATE TABLE ticks (
  seq INTEGER PRIMARY KEY,
  at_ms REAL NOT NULL,
  owner_id INTEGER NOT NULL,
  layout_id INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;

-- Older ticks, many of one owner and layout together, column by column and compressed. A chunk counts once the pulse
-- says that the log is packed up to its \`upto\`.
CREATE TABLE chunks (
  id INTEGER PRIMARY KEY AUTOINCREMENT, -- A reader that holds the number of a deleted chunk must not meet another one.
  owner_id INTEGER NOT NULL,
  layout_id INTEGER NOT NULL,
  from_ms REAL NOT NULL,
  to_ms REAL NOT NULL,
  count INTEGER NOT NULL,
  upto INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE INDEX chunks_by_owner ON chunks (owner_id, to_ms, from_ms, upto);
CREATE INDEX chunks_by_age ON chunks (to_ms);
CREATE INDEX chunks_by_pack ON chunks (upto);

CREATE TABLE facts (
  id INTEGER PRIMARY KEY,
  at_ms REAL NOT NULL,
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL
) STRICT;
CREATE INDEX facts_by_owner ON facts (owner, at_ms);
CREATE INDEX facts_by_time ON facts (at_ms);
CREATE TABLE facts_now (
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  at_ms REAL NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;

-- \`data\` is JSON text, or the same compressed (a blob) where that is shorter.
CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  wallet TEXT,
  pda_index INTEGER,
  subaccount INTEGER,
  symbol TEXT,
  happened_ms REAL NOT NULL,
  seen_ms REAL NOT NULL,
  slot INTEGER NOT NULL,
  slot_index INTEGER NOT NULL,
  event_index INTEGER NOT NULL,
  fields TEXT NOT NULL,
  data ANY,
  backfilled INTEGER NOT NULL,
  inbox TEXT,
  notification_key TEXT,
  UNIQUE (kind, key)
) STRICT;
CREATE INDEX events_by_time ON events (happened_ms, slot, slot_index, event_index);
CREATE INDEX events_by_kind ON events (kind, happened_ms, slot, slot_index, event_index);
CREATE INDEX events_by_wallet ON events (wallet, happened_ms, slot, slot_index, event_index);

CREATE TABLE failed_reads (
  id INTEGER PRIMARY KEY,
  at_ms REAL NOT NULL,
  source TEXT NOT NULL,
  wallet TEXT,
  symbol TEXT,
  reason TEXT NOT NULL,
  detail TEXT NOT NULL
) STRICT;
CREATE INDEX failed_reads_by_time ON failed_reads (at_ms);

CREATE TABLE milestones (
  id INTEGER PRIMARY KEY,
  at_ms REAL NOT NULL,
  kind TEXT NOT NULL,
  value TEXT NOT NULL
) STRICT;
CREATE INDEX milestones_by_kind ON milestones (kind);

-- \`body\` is compressed (zstd).
CREATE TABLE payloads (
  id INTEGER PRIMARY KEY,
  at_ms REAL NOT NULL,
  source TEXT NOT NULL,
  wallet TEXT,
  problem TEXT NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE INDEX payloads_by_time ON payloads (at_ms);

CREATE TABLE alerts (id INTEGER PRIMARY KEY, state TEXT NOT NULL, row TEXT NOT NULL) STRICT;
CREATE INDEX alerts_by_state ON alerts (state, id);
CREATE TABLE alert_changes (id INTEGER PRIMARY KEY, alert_id INTEGER NOT NULL, row TEXT NOT NULL) STRICT;
CREATE INDEX alert_changes_by_alert ON alert_changes (alert_id, id);

CREATE TABLE rule_states (
  rule TEXT NOT NULL,
  subject TEXT NOT NULL,
  row TEXT NOT NULL,
  PRIMARY KEY (rule, subject)
) STRICT, WITHOUT ROWID;

CREATE TABLE owed (
  id INTEGER PRIMARY KEY,
  alert_id INTEGER NOT NULL,
  status TEXT NOT NULL,
  row TEXT NOT NULL
) STRICT;
CREATE INDEX owed_open ON owed (id) WHERE status IN ('owed', 'sealed');
CREATE INDEX owed_by_alert ON owed (alert_id);

CREATE TABLE messages (
  id TEXT PRIMARY KEY,
  sealed_at_ms REAL NOT NULL,
  status TEXT NOT NULL,
  row TEXT NOT NULL
) STRICT;
CREATE INDEX messages_by_time ON messages (sealed_at_ms, id);
CREATE INDEX messages_open ON messages (sealed_at_ms, id) WHERE status = 'sealed';
CREATE TABLE message_alerts (
  message_id TEXT NOT NULL,
  alert_id INTEGER NOT NULL,
  PRIMARY KEY (message_id, alert_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX message_alerts_by_alert ON message_alerts (alert_id);

CREATE TABLE acknowledgements (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  wallet TEXT NOT NULL,
  status TEXT NOT NULL,
  row TEXT NOT NULL
) STRICT;
CREATE INDEX acknowledgements_open ON acknowledgements (id) WHERE status IN ('waiting', 'due');
CREATE INDEX acknowledgements_by_wallet ON acknowledgements (wallet);

CREATE TABLE cursors (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE keep (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
-- Sealed by the session keeper; no secret stands here in clear.
CREATE TABLE sessions (wallet TEXT PRIMARY KEY, sealed BLOB NOT NULL) STRICT, WITHOUT ROWID;
`;
