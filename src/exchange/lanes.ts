/** The lanes of the request budget, by the purpose of a request. */
/** The purpose of a request; of two that could go first the lower one does. */
export const lanes = { prices: 0, atRisk: 1, state: 2, inbox: 3, asked: 4, rest: 5, catchUp: 6 } as const;

export type Lane = (typeof lanes)[keyof typeof lanes];

/** Share of each lane while all have something to send, relative to the others. */
export const laneWeights: Readonly<Record<Lane, number>> = {
  [lanes.prices]: 60,
  [lanes.atRisk]: 60,
  [lanes.state]: 60,
  [lanes.inbox]: 3,
  [lanes.asked]: 3,
  [lanes.rest]: 3,
  [lanes.catchUp]: 1,
};
