/**
 * The steps of a delivery, for tests that stop the program at each of them. Awaited: the listener may delay the step.
 */
export type Step =
  | "owed-seen"
  | "sealed"
  | "before-send"
  | "sent"
  | "recorded"
  | "ack-due"
  | "ack-sent"
  | "ack-recorded";

export type Probe = (step: Step) => void | Promise<void>;

export const noProbe: Probe = () => {};
