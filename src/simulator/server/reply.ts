/** Replies of the simulated exchange over HTTP. */
export interface Reply {
  readonly status: number;
  /** JSON text; null: no body. */
  readonly text: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

export const errorReply = (
  status: number,
  error: string,
  headers?: Readonly<Record<string, string>>,
): Reply => ({ status, text: JSON.stringify({ error }), ...(headers ? { headers } : {}) });

/** A request that cannot be: what kind of mistake it is and where, in the one field that errors have. */
export const requestRefused = (status: number, kind: string, message: string): Reply =>
  errorReply(status, `${kind}: ${message}`);
