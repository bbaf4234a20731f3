/** The part of a logger that is used here; pino implements it. */
export interface DashboardLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const silentLog: DashboardLog = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
