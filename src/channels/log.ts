/** The part of a logger that a channel uses; pino implements it. No secret is passed to it. */
export interface ChannelLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export const silentLog: ChannelLog = { debug: () => {}, info: () => {}, warn: () => {} };
