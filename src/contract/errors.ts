import { directErrors } from './errors/direct-errors.ts';
import type { ErrorRow, Retry } from './errors/error-row.ts';
import { marketErrors } from './errors/market-errors.ts';
import { paymentErrors } from './errors/payment-errors.ts';
import { requestErrors } from './errors/request-errors.ts';
import { worldErrors } from './errors/world-errors.ts';

/** Errors of MCP and the hosted connector. */
const connectErrors = {
  origin_refused: {
    status: 403,
    title: 'Requests from this origin or host are not allowed',
    retry: 'never',
    next_step: 'Call the market’s own address from one of its pages, or from a program without an Origin header.',
  },
  token_required: {
    status: 401,
    title: 'This address accepts only an access token',
    retry: 'after_fix',
    next_step:
      'Get a token as WWW-Authenticate describes, or open /mcp/connect in a browser. If you have a merchant key, use /mcp.',
  },
  insufficient_scope: {
    status: 403,
    title: 'The access token does not cover this action',
    retry: 'after_fix',
    next_step: 'Authorize again with the scopes named in WWW-Authenticate.',
  },
  host_not_proven: {
    status: 403,
    title: 'This connection has not been confirmed yet',
    retry: 'after_fix',
    next_step: 'Call the `me` tool once over this connection, then send the same request again.',
  },
  connection_closed: {
    status: 410,
    title: 'This connection attempt has ended',
    retry: 'never',
    next_step: 'Start again in the program you want to connect.',
  },
  pairing_code_refused: {
    status: 403,
    title: 'That pairing code is not valid',
    retry: 'after_fix',
    next_step: 'Get a new code and enter it as shown. A code works once, within ten minutes.',
  },
  proof_missing: {
    status: 409,
    title: 'You have not yet proven which store is yours',
    retry: 'after_fix',
    next_step: 'Enter the merchant key or a pairing code on the page first.',
  },
  not_by_tool: {
    status: 409,
    title: 'MCP tools cannot deliver these goods, because they seem to contain a secret',
    retry: 'never',
    do_not_pay_again: true,
    next_step:
      'Fetch the goods over HTTP from the address in `fetch_at`, with the same key, token or signature. Do not pay again.',
  },
  answer_too_large: {
    status: 413,
    title: 'The answer is too large for a tool result',
    retry: 'after_fix',
    next_step: 'Ask for fewer rows with `limit`.',
  },
} as const satisfies Record<string, ErrorRow>;

export type { ErrorRow, Retry } from './errors/error-row.ts';

/**
 * The only table of errors. Each row gives the status of a reason, whether to retry, and whether paying again is safe. The reference page
 * and the OpenAPI document are generated from it.
 */
const rows = { ...requestErrors, ...marketErrors, ...paymentErrors, ...directErrors, ...worldErrors, ...connectErrors };

export type Reason = keyof typeof rows;
export const ERRORS: Readonly<Record<Reason, ErrorRow>> = rows;
export const REASONS = Object.keys(rows) as Reason[];

export type ErrorClass =
  | 'bad_input'
  | 'auth_required'
  | 'payment_required'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'rate_limited'
  | 'market_fault';

const CLASSES: Readonly<Record<ErrorRow['status'], ErrorClass>> = {
  400: 'bad_input',
  401: 'auth_required',
  402: 'payment_required',
  403: 'forbidden',
  404: 'not_found',
  405: 'bad_input',
  408: 'bad_input',
  409: 'conflict',
  410: 'bad_input',
  412: 'bad_input',
  413: 'bad_input',
  415: 'bad_input',
  416: 'bad_input',
  422: 'bad_input',
  429: 'rate_limited',
  431: 'bad_input',
  460: 'bad_input',
  500: 'market_fault',
  502: 'market_fault',
  503: 'market_fault',
};

export function errorClass(status: ErrorRow['status']): ErrorClass {
  return CLASSES[status];
}

/** Body of a refused request: RFC 9457, plus the fields that an agent needs to act on it. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  reason: Reason;
  error_class: ErrorClass;
  /** The same text as detail, under the name that x402 v1 clients read. */
  error: string;
  next_step: string;
  request_id: string;
  retry: Retry;
  retry_after_seconds?: number;
  do_not_pay_again?: boolean;
  errors?: { path: string; message: string }[];
  [field: string]: unknown;
}
