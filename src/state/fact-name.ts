/** The name under which a fact of an owner is kept in history. */
export function factName(owner: string, name: string): string {
  return `${owner}\n${name}`;
}
