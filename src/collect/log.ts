/** As much of a logger as collecting needs; pino's fits. Nothing secret is ever handed to it. */
export interface CollectLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
