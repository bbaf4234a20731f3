/** The sentence with which a person asks for a stop loss whose prices are beyond the usual band, or behind the liquidation. */
export const farSentence = "these prices are far from the mark on purpose";
