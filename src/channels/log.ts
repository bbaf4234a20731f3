/** As much of a logger as a channel needs; pino's fits. Nothing secret is ever handed to it. */
export interface ChannelLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export const silentLog: ChannelLog = { debug: () => {}, info: () => {}, warn: () => {} };
