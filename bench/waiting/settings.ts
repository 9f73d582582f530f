/** What does not depend on the command line. */

/** As on Base. */
export const BLOCK_SECONDS = 2;
export const FINALITY_BLOCKS = 600;

/** Measured one after the other, without the payments that wait and with them. */
export const NEW_PURCHASES = 10;

/** Between phases, so that what one has caused is over. */
export const REST_SECONDS = 15;
