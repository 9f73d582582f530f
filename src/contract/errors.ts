import { connectErrors } from './errors/connect-errors.ts';
import { directErrors } from './errors/direct-errors.ts';
import type { ErrorRow, Retry } from './errors/error-row.ts';
import { marketErrors } from './errors/market-errors.ts';
import { paymentErrors } from './errors/payment-errors.ts';
import { requestErrors } from './errors/request-errors.ts';
import { worldErrors } from './errors/world-errors.ts';

export type { ErrorRow, Retry } from './errors/error-row.ts';

/**
 * The one table of errors (W2). Every reason that the service can answer stands here with its status, what to retry and whether
 * paying again is safe; the reference page and the OpenAPI document are made from it.
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
  413: 'bad_input',
  415: 'bad_input',
  422: 'bad_input',
  429: 'rate_limited',
  431: 'bad_input',
  500: 'market_fault',
  502: 'market_fault',
  503: 'market_fault',
};

export function errorClass(status: ErrorRow['status']): ErrorClass {
  return CLASSES[status];
}

/** What a refused request is answered with: RFC 9457, plus what an agent needs to act on it. */
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
