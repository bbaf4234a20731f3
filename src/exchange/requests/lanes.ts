/** The lanes of the request budget, by the purpose of a request. */
/** The purposes of requests, in order of priority. */
export const lanes = { prices: 0, atRisk: 1, state: 2, inbox: 3, asked: 4, rest: 5, catchUp: 6 } as const;

export type Lane = (typeof lanes)[keyof typeof lanes];

/** Share of each lane while all have requests, relative to the others. */
export const laneWeights: Readonly<Record<Lane, number>> = {
  [lanes.prices]: 60,
  [lanes.atRisk]: 60,
  [lanes.state]: 60,
  [lanes.inbox]: 3,
  [lanes.asked]: 3,
  [lanes.rest]: 3,
  [lanes.catchUp]: 1,
};
