/** What does not depend on the command line. All of it is printed with the outcome. */

export const CONNECTIONS = 32;

/** Short, so that what else the machine does falls on both sides; a measurement consists of many. */
export const SLICE_SECONDS = 0.5;
export const WARM_UP_SECONDS = 0.6;
export const SQL_SECONDS = 1.5;

/** Where there are two cores: one for the server that is measured, the other for the client. */
export const SERVER_CORE = 0;
export const CLIENT_CORE = 1;

/** A client that takes so much of its core is what limits the figure. */
export const BUSY_SHARE = 0.93;

/** So many that writes keep their rate while readers leave no moment idle. */
export const WRITE_CONNECTIONS = 64;
