/** Messages that are sent in several parts. A part that was accepted is not sent again while the process runs. */

const maxRemembered = 1_000;

export class Parts<Answer> {
  /** Answers to accepted parts, by message id, until all parts are accepted. */
  readonly #accepted = new Map<string, Answer[]>();
  readonly #isAccepted: (answer: Answer) => boolean;

  constructor(isAccepted: (answer: Answer) => boolean) {
    this.#isAccepted = isAccepted;
  }

  /**
   * Sends, in order, the parts that were not accepted before. @returns the answer to the first part, or the first
   * answer that is not an acceptance
   */
  async send<Part>(
    messageId: string,
    parts: readonly Part[],
    send: (part: Part, index: number) => Promise<Answer>,
  ): Promise<Answer> {
    const accepted = this.#accepted.get(messageId) ?? [];
    for (const [index, part] of parts.entries()) {
      if (index < accepted.length) continue;
      const answer = await send(part, index);
      if (!this.#isAccepted(answer)) return answer;
      accepted.push(answer);
      this.#accepted.set(messageId, accepted);
    }
    this.#accepted.delete(messageId);
    const [oldest] = this.#accepted.keys();
    if (this.#accepted.size > maxRemembered) this.#accepted.delete(oldest!);
    return accepted[0]!;
  }
}
