/** Settings independent of the command line. */

/** Block time of Base. */
export const BLOCK_SECONDS = 2;
export const FINALITY_BLOCKS = 600;

/** Measured one by one, without and with waiting payments. */
export const NEW_PURCHASES = 10;

/** Pause between phases, so that effects of one end before the next. */
export const REST_SECONDS = 15;
