/** The end of a switch over a union: the compiler refuses the call while a member is unhandled. */
export function unreachable(value: never): never {
  throw new Error(`unhandled: ${JSON.stringify(value)}`);
}
