/** The public parts of the history. */
export { backupDatabase, type Copied, type Restored, restoreDatabase } from "./backup.ts";
export { HistoryError, type HistoryProblem } from "./errors.ts";
export { writerOf } from "./lock.ts";
export { defaultRetention, type Maintained, type Retention } from "./maintenance.ts";
export { type History, openStore, type StoreOptions } from "./store.ts";
export { refuseShared } from "./trust.ts";
