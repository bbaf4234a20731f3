/** The reason why the local API cannot be served. The message says what to do about it. */
export type DashboardFailure =
  /** Another daemon answers at the socket. */
  | "daemon-running"
  /** Something that is no socket stands where the socket should be; it is left alone. */
  | "not-a-socket"
  /** Another user owns the socket, or can put another one there. */
  | "not-trusted"
  | "path-too-long"
  /** The TCP address is taken, or not ours. */
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
