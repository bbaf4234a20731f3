/** The part of a logger that `deliver` uses; pino's fits. */
export interface DeliverLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export const silentLog: DeliverLog = { debug: () => {}, info: () => {}, warn: () => {} };
