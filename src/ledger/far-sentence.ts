/** The sentence that confirms a stop loss whose prices are outside the usual band or beyond the liquidation price. */
export const farSentence = "these prices are far from the mark on purpose";
