/** Settings that no option changes. All are printed with the result. */

export const CONNECTIONS = 32;

/** Slices are short, so that other work on the machine affects both sides. A measurement has many slices. */
export const SLICE_SECONDS = 0.5;
export const WARM_UP_SECONDS = 0.6;
export const SQL_SECONDS = 1.5;

/** If there are two cores, one is for the server under test and the other for the client. */
export const SERVER_CORE = 0;
export const CLIENT_CORE = 1;

/** A client that uses this share of its core limits the figure. */
export const BUSY_SHARE = 0.93;

/** Enough to keep the rate of writes while readers leave no idle time. */
export const WRITE_CONNECTIONS = 64;
