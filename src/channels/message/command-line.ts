/** The command line of the daemon, as messages name it. */
/** Makes the command line of this daemon where it runs: `alerts ack 17` → all that has to be typed. */
export type CommandLine = (words: string) => string;

export const plainCommandLine: CommandLine = (words) => `perpwatch ${words}`;
