/** Settings that no option changes. */

/** Block time of Base. */
export const BLOCK_SECONDS = 2;
export const FINALITY_BLOCKS = 600;

/** Number of purchases measured one by one, without and with waiting payments. */
export const NEW_PURCHASES = 10;

/** Pause between phases, so that effects of one end before the next. */
export const REST_SECONDS = 15;
