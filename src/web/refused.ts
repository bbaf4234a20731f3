/** A refused request, with the reason and the fix for the client. */
export class Refused extends Error {
  readonly status: number;
  /** Further fields of the answer, for programs. */
  readonly facts: Readonly<Record<string, unknown>>;
  constructor(status: number, message: string, facts: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.name = "Refused";
    this.status = status;
    this.facts = facts;
  }
}
