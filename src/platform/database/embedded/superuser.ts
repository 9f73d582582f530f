/** The cluster's one role. */
export const SUPERUSER = 'openaisle';
