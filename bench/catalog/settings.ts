/** Settings independent of the command line. All are printed with the result. */

export const CONNECTIONS = 32;

/** Short, so that other work on the machine affects both sides. A measurement has many slices. */
export const SLICE_SECONDS = 0.5;
export const WARM_UP_SECONDS = 0.6;
export const SQL_SECONDS = 1.5;

/** With two cores: one for the server under test, the other for the client. */
export const SERVER_CORE = 0;
export const CLIENT_CORE = 1;

/** A client with this share of its core limits the figure. */
export const BUSY_SHARE = 0.93;

/** Enough to keep the rate of writes while readers leave no idle time. */
export const WRITE_CONNECTIONS = 64;
