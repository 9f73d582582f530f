import { AgentError } from '../agent/agent-error.ts';
import { MarketError, UnreadableAnswer } from '../sdk/errors.ts';
import { ArtifactMismatch } from '../sdk/payments/artifact-commitment.ts';
import { PaymentMayBeLost, TermsRefused } from '../sdk/payments/payment-errors.ts';
import { PaymentUndecided } from '../sdk/payments/payment-run.ts';

/** Refused: the market said no, or the word it gave ends this. Wrong use: nothing of weight was sent. Unknown: it may have happened, or money has moved. */
export const EXITS = { refused: 1, wrong_use: 2, unknown: 3 } as const;
export type Trouble = keyof typeof EXITS;

export interface ErrorDetails {
  reason: string;
  title: string;
  detail?: string | undefined;
  nextStep?: string | undefined;
  file?: string | undefined;
  retryAfterSeconds?: number | null | undefined;
  errors?: readonly { path: string; message: string }[] | undefined;
  requestId?: string | null | undefined;
  /** Money has moved or may move: said by the market, or known here. */
  doNotPayAgain?: boolean | undefined;
  /** What was done before it, for programs: without secrets. */
  more?: Readonly<Record<string, unknown>> | undefined;
}

/** How a command ends that is not done. Holds no secret: it is printed. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly trouble: Trouble;
  readonly parts: ErrorDetails;

  constructor(trouble: Trouble, parts: ErrorDetails) {
    super(parts.title);
    this.trouble = trouble;
    this.parts = parts;
  }
}

export function wrongUse(title: string, nextStep?: string, reason = 'wrong_use'): CliError {
  return new CliError('wrong_use', { reason, title, nextStep });
}

/** Whether the request may have been carried out although no success came back. */
export function isUnknown(error: unknown): boolean {
  if (error instanceof MarketError) return error.status >= 500 && error.reason !== 'door_closed';
  if (error instanceof AgentError) return error.trouble === 'unknown';
  if (error instanceof TermsRefused || neverConnected(error) !== null) return false;
  return !(error instanceof CliError);
}

/** Any error as one that can be told. `said` adds what only the command knows: the file, and what to do next. */
export function toCliError(error: unknown, said: { nextStep?: string | undefined; file?: string } = {}): CliError {
  if (error instanceof CliError) return error;
  if (error instanceof AgentError) return new CliError(error.trouble, error.parts);
  if (error instanceof MarketError) {
    const { problem, requestId, retryAfterSeconds } = error;
    return new CliError(isUnknown(error) ? 'unknown' : 'refused', {
      reason: error.reason,
      title: problem.title,
      detail: problem.detail,
      nextStep: said.nextStep ?? problem.next_step,
      file: said.file,
      retryAfterSeconds,
      errors: problem.errors,
      requestId,
      doNotPayAgain: error.doNotPayAgain ?? undefined,
    });
  }
  if (error instanceof UnreadableAnswer) return fromUnreadable(error, said);
  return fromPayment(error, said.nextStep) ?? fromSystem(error, said);
}

function fromUnreadable(error: UnreadableAnswer, said: { nextStep?: string | undefined; file?: string }): CliError {
  const { why, message, nextStep, requestId } = error;
  const never = neverConnected(error);
  if (never === null)
    return new CliError('unknown', {
      reason: why,
      title: 'The market gave no answer that can be read',
      detail: withCode(message, error),
      nextStep: said.nextStep ?? nextStep,
      file: said.file,
      requestId,
    });
  const [address = ''] = /https?:\/\/[^\s;]+/.exec(message) ?? [];
  return new CliError('refused', {
    reason: 'not_connected',
    title: `No connection to ${address}: ${never.cause} (${never.code})`,
    detail: 'Nothing was sent.',
    nextStep: said.nextStep === undefined ? never.nextStep : `${never.nextStep} ${said.nextStep}`,
    file: said.file,
  });
}

/** The system's own word for what went wrong, where there is one: `ECONNRESET`, `EPROTO`. */
function withCode(message: string, error: UnreadableAnswer): string {
  const found = causesOf(error).find(({ code }) => /^[A-Z][A-Z0-9_]{2,40}$/.test(code));
  return found === undefined ? message : `${message} (${found.code})`;
}

function causesOf(error: Error): { code: string; syscall: string | null }[] {
  const causes: { code: string; syscall: string | null }[] = [];
  for (let cause = error.cause; cause instanceof Error; cause = cause.cause)
    if ('code' in cause)
      causes.push({ code: String(cause.code), syscall: 'syscall' in cause ? String(cause.syscall) : null });
  return causes;
}

/** What the SDK's payers throw. */
function fromPayment(error: unknown, nextStep: string | undefined): CliError | null {
  if (error instanceof TermsRefused)
    return new CliError('refused', { reason: error.why, title: error.message, nextStep: nextStep ?? error.nextStep });
  if (error instanceof PaymentUndecided)
    return new CliError('unknown', {
      doNotPayAgain: true,
      reason: 'payment_undecided',
      title: 'The wait ended before the payment was decided; what was signed is kept',
      nextStep: 'Do not pay again. The same command goes on with it and pays nothing twice, as does openaisle wait.',
    });
  if (error instanceof PaymentMayBeLost)
    return new CliError('unknown', {
      doNotPayAgain: true,
      reason: 'payment_may_be_lost',
      title: 'The market lost history, and the chain shows a payment that may be the one for this',
      detail: error.txHash === null ? undefined : `Transaction ${error.txHash}. Nothing more was paid.`,
      nextStep: nextStep ?? 'Find out what that transaction paid for; if it was this, ask who received it.',
    });
  if (error instanceof ArtifactMismatch)
    return new CliError('unknown', {
      doNotPayAgain: true,
      reason: 'goods_mismatch',
      title: error.message,
      nextStep: 'Do not pay again. Keep the receipt, and flag the listing.',
    });
  return null;
}

// Never the message of an error that is not known: it may quote what it could not read.
function fromSystem(error: unknown, said: { nextStep?: string | undefined; file?: string }): CliError {
  const { code, path, syscall } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  if (code !== undefined && syscall !== undefined) {
    return new CliError('wrong_use', {
      reason: 'file_trouble',
      title: `${syscall} failed with ${code}${path === undefined ? '' : ` at ${path}`}`,
      nextStep: said.nextStep,
      file: said.file ?? path,
    });
  }
  return new CliError('unknown', {
    reason: 'unexpected',
    title: `An unexpected error (${error instanceof Error ? error.name : typeof error})`,
    ...said,
  });
}

/** Why a connection was never made: nothing was sent, so nothing was done. */
interface NeverConnected {
  /** `ENOTFOUND`, `ECONNREFUSED`, `CERT_HAS_EXPIRED`. */
  code: string;
  cause: string;
  nextStep: string;
}

const ADDRESS = 'Look at --market, or at OPENAISLE_MARKET.';
const NETWORK = 'Look whether this machine is connected, then run the same command again.';
const REASONS: Readonly<Record<string, readonly [cause: string, nextStep: string]>> = {
  ENOTFOUND: ['its name is not known', `${ADDRESS} If it is right, look whether this machine is connected.`],
  EAI_AGAIN: ['names cannot be looked up now', NETWORK],
  ECONNREFUSED: [
    'nothing listens at that address and port',
    `${ADDRESS} If it is right, the market is down: try later.`,
  ],
  EHOSTUNREACH: ['there is no way to it', NETWORK],
  ENETUNREACH: ['there is no network', NETWORK],
  EADDRNOTAVAIL: ['there is no network', NETWORK],
  UND_ERR_CONNECT_TIMEOUT: ['no connection came about in time', NETWORK],
  ETIMEDOUT: ['no connection came about in time', NETWORK],
  ERR_SSL_WRONG_VERSION_NUMBER: ['it does not speak TLS', `${ADDRESS} A market on this machine may be http.`],
  ERR_SSL_PACKET_LENGTH_TOO_LONG: ['it does not speak TLS', `${ADDRESS} A market on this machine may be http.`],
};
const CERTIFICATE = /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_CERT_ALTNAME_INVALID$|HOSTNAME_MISMATCH$)/;

/** Null: a request may have been sent. */
function neverConnected(error: unknown): NeverConnected | null {
  if (!(error instanceof UnreadableAnswer) || error.why !== 'no_answer' || error.status !== null) return null;
  for (const { code, syscall } of causesOf(error)) {
    // A connection that was there can end by the same codes, after the request was sent.
    if (syscall !== null && syscall !== 'connect' && syscall !== 'getaddrinfo') return null;
    const [said, nextStep] = REASONS[code] ?? [];
    if (said !== undefined && nextStep !== undefined) return { code, cause: said, nextStep };
    if (CERTIFICATE.test(code))
      return {
        code,
        cause: 'its TLS certificate is not valid here',
        nextStep: `${ADDRESS} If it is right, do not go on: another may be answering in its place. A private authority is named by NODE_EXTRA_CA_CERTS.`,
      };
  }
  return null;
}
