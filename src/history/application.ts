/** "perp" in ASCII: marks a SQLite file as a history of perpwatch (`PRAGMA application_id`). */
export const applicationId = 0x70657270;
