/** The reason why the local API cannot be served. The message names the fix. */
export type DashboardFailure =
  /** Another daemon answers on the socket. */
  | "daemon-running"
  /** A file that is not a socket has the socket's path; it is left alone. */
  | "not-a-socket"
  /** Another user owns the socket, or can replace it. */
  | "not-trusted"
  | "path-too-long"
  /** The TCP address is in use, or does not belong to this machine. */
  | "address"
  /** The file system refused the socket. */
  | "io";

export class DashboardError extends Error {
  readonly failure: DashboardFailure;
  constructor(failure: DashboardFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "DashboardError";
    this.failure = failure;
  }
}

export const errorCode = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error && typeof error.code === "string"
    ? error.code
    : "";
