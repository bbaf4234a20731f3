/** A refusal that the asker can do something about. */
export class Refused extends Error {
  readonly status: number;
  /** More than the message, for programs. */
  readonly facts: Readonly<Record<string, unknown>>;
  constructor(status: number, message: string, facts: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.name = "Refused";
    this.status = status;
    this.facts = facts;
  }
}
