/** The system's code of an error, such as ENOENT, or that of its cause; null: there is none. */
export function errorCode(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  if ("code" in error && typeof error.code === "string") return error.code;
  return error.cause === undefined ? null : errorCode(error.cause);
}
