/** Roll-ups: figures of each minute and hour, kept when the samples are gone. */

export const sql = `
-- Chunks numbered above rolled_from, up to rolled_to, are of before there were roll-ups: theirs are still to be made.
ALTER TABLE pulse ADD COLUMN rolled_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE pulse ADD COLUMN rolled_to INTEGER NOT NULL DEFAULT 0;
UPDATE pulse SET rolled_to = coalesce((SELECT max(id) FROM chunks), 0);

-- Buckets of one owner and one layout, compressed, of one block of time at most. They count as chunks do, once the pulse
-- says that the log is packed up to \`upto\`. Of one bucket there may be several parts: its samples were packed in parts.
CREATE TABLE rollups (
  id INTEGER PRIMARY KEY,
  owner_id INTEGER NOT NULL,
  layout_id INTEGER NOT NULL,
  bucket_ms INTEGER NOT NULL,
  from_ms REAL NOT NULL, -- When the first and the last bucket begin.
  to_ms REAL NOT NULL,
  count INTEGER NOT NULL, -- Buckets.
  upto INTEGER NOT NULL,
  loose INTEGER NOT NULL, -- 1: to be merged with others of its block when that is over.
  body BLOB NOT NULL
) STRICT;
CREATE INDEX rollups_by_owner ON rollups (owner_id, bucket_ms, to_ms, from_ms, upto);
CREATE INDEX rollups_by_age ON rollups (bucket_ms, to_ms);
CREATE INDEX rollups_by_pack ON rollups (upto);
CREATE INDEX rollups_loose ON rollups (bucket_ms, to_ms) WHERE loose = 1;
`;
