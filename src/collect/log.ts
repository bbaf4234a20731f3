/** The part of a logger that `collect` uses; pino's fits. Secrets are never passed to it. */
export interface CollectLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
