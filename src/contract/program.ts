/** Constants of the exchange, its program on the ledger first. */

/** The program that owns trader accounts (also `programId` of the exchange snapshot). */
export const PROGRAM_ID = "EtrnLzgbS7nMMy5fbD42kXiUzGg8XQzJ972Xtk1cjWih";
/** All-ones key; stands for an authority that is not set. */
export const SYSTEM_KEY = "11111111111111111111111111111111";
/** Maximum number of positions of a trader account. */
export const MAX_POSITIONS = 128;
export const MIN_MAX_POSITIONS = 32;

export const PUBLIC_BASE_URL = "https://perp-api.phoenix.trade";
