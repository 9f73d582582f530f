import type { ErrorRow } from './error-row.ts';

/** What only those meet who come by MCP or through the hosted connector. */
export const connectErrors = {
  origin_refused: {
    status: 403,
    title: 'Pages of that origin may not call here',
    retry: 'never',
    next_step: 'Call from a program, or from a page of this market. Programs send no Origin header.',
  },
  token_required: {
    status: 401,
    title: 'This address takes an access token and nothing else',
    retry: 'after_fix',
    next_step:
      'Get a token as WWW-Authenticate says; a browser finds the way at /mcp/connect. Who holds a merchant key uses /mcp.',
  },
  insufficient_scope: {
    status: 403,
    title: 'The access token does not cover this',
    retry: 'after_fix',
    next_step: 'Authorize again with the scopes that WWW-Authenticate names.',
  },
  host_not_proven: {
    status: 403,
    title: 'This connection has not shown yet that it works',
    retry: 'after_fix',
    next_step: 'Call the tool me once through this connection, then send the same request again.',
  },
  connection_closed: {
    status: 410,
    title: 'This attempt to connect is over',
    retry: 'never',
    next_step: 'Begin again in the program that you want to connect.',
  },
  pairing_code_refused: {
    status: 403,
    title: 'That pairing code is not valid',
    retry: 'after_fix',
    next_step: 'Get a new one: it is good for ten minutes and for one use, as typed.',
  },
  proof_missing: {
    status: 409,
    title: 'Nobody has shown yet whose store this is about',
    retry: 'after_fix',
    next_step: 'Give the merchant key or a pairing code on the page first.',
  },
  not_by_tool: {
    status: 409,
    title: 'This cannot be handed over by a tool',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'Fetch it over HTTP at the address in fetch_at, with the same key, token or signature.',
  },
  answer_too_large: {
    status: 413,
    title: 'The answer is too large for a tool',
    retry: 'after_fix',
    next_step: 'Ask for it in pages, with limit.',
  },
} as const satisfies Record<string, ErrorRow>;
