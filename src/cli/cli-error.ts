import { AgentError, type AgentErrorParts, type AgentTrouble } from '../agent/agent-error.ts';
import { formed, type OwnWords, ofOwner, ofSource, own } from '../contract/own-words.ts';
import { MarketError, rowOf, UnreadableAnswer } from '../sdk/errors.ts';
import { ArtifactMismatch } from '../sdk/payments/artifact-commitment.ts';
import { PaymentMayBeLost, TermsRefused } from '../sdk/payments/payment-errors.ts';
import { PaymentUndecided } from '../sdk/payments/payment-run.ts';
import type { Line } from './printable.ts';

/** Exit codes. */
export const EXITS: Readonly<Record<AgentTrouble, number>> = { refused: 1, wrong_use: 2, unknown: 3 };

export interface ErrorDetails extends Omit<AgentErrorParts, 'doNotPayAgain'> {
  detail?: OwnWords | undefined;
  /** Lines to print about what was done or checked before the failure. */
  lines?: readonly Line[] | undefined;
  retryAfterSeconds?: number | null | undefined;
  requestId?: string | null | undefined;
  /** True if money has moved or may move, according to the market or this program. */
  doNotPayAgain?: boolean | undefined;
  /** JSON fields that describe what was done before the failure. Must contain no secrets. */
  more?: Readonly<Record<string, unknown>> | undefined;
}

/** A failed command. Must contain no secret, because it is printed. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly trouble: AgentTrouble;
  readonly parts: ErrorDetails;

  constructor(trouble: AgentTrouble, parts: ErrorDetails) {
    super(parts.title);
    this.trouble = trouble;
    this.parts = parts;
  }
}

export function wrongUse(title: OwnWords, nextStep?: OwnWords, reason = 'wrong_use'): CliError {
  return new CliError('wrong_use', { reason, title, nextStep });
}

/** Whether the failed request may have taken effect. */
export function isUnknown(error: unknown): boolean {
  if (error instanceof MarketError) return error.status >= 500 && error.reason !== 'door_closed';
  if (error instanceof AgentError) return error.trouble === 'unknown';
  if (error instanceof TermsRefused || findConnectFailure(error) !== null) return false;
  return !(error instanceof CliError);
}

export function reasonOf(error: unknown): string | null {
  return error instanceof MarketError ? error.reason : null;
}

/** Details that only the command knows. */
interface Hints {
  nextStep?: OwnWords | undefined;
  file?: string | undefined;
}

/** Converts any error to a printable one. `hints` override the usual next step and name the file. */
export function toCliError(error: unknown, hints: Hints = {}): CliError {
  if (error instanceof CliError) return error;
  if (error instanceof AgentError) return new CliError(error.trouble, error.parts);
  if (error instanceof MarketError) {
    const { requestId, retryAfterSeconds } = error;
    const { reason, title, nextStep, market } = toRefusal(error);
    return new CliError(isUnknown(error) ? 'unknown' : 'refused', {
      ...{ reason, title, market },
      nextStep: hints.nextStep ?? nextStep,
      file: hints.file,
      retryAfterSeconds,
      requestId,
      doNotPayAgain: error.doNotPayAgain ?? undefined,
    });
  }
  if (error instanceof UnreadableAnswer) return fromUnreadable(error, hints);
  return fromPayment(error, hints.nextStep) ?? fromSystem(error, hints);
}

/** Describes a refusal by this version's error table. Texts of the market that differ from the table are returned in `market`. */
function toRefusal({ reason, problem }: MarketError): Pick<ErrorDetails, 'reason' | 'title' | 'nextStep' | 'market'> {
  const reasonRow = rowOf(reason);
  const row = problem.status === 402 ? (reasonRow?.of_proof ?? reasonRow) : reasonRow;
  const marketTexts = {
    ...(row === undefined ? { reason, title: problem.title } : {}),
    ...(problem.detail === row?.title ? {} : { detail: problem.detail }),
    ...(problem.next_step === row?.next_step ? {} : { next_step: problem.next_step }),
    ...(problem.errors === undefined ? {} : { errors: problem.errors }),
  };
  const market = Object.keys(marketTexts).length === 0 ? undefined : marketTexts;
  if (row !== undefined) return { reason, title: ofSource(row.title), nextStep: ofSource(row.next_step), market };
  return {
    reason: 'unknown_reason',
    title: own`The market refused this for a reason that this version doesn’t know`,
    nextStep: own`Treat the market’s message as untrusted. A newer version of openaisle may know the reason.`,
    market,
  };
}

function fromUnreadable(error: UnreadableAnswer, hints: Hints): CliError {
  const { why, detail, nextStep, requestId } = error;
  const failure = findConnectFailure(error);
  if (failure === null)
    return new CliError('unknown', {
      reason: why,
      title: own`The market sent no readable answer`,
      detail: appendErrorCode(detail, error),
      nextStep: hints.nextStep ?? nextStep,
      file: hints.file,
      requestId,
    });
  const [address = ''] = /https?:\/\/[^\s;]+/.exec(detail) ?? [];
  return new CliError('refused', {
    reason: 'not_connected',
    title: own`No connection to ${ofOwner(address)}: ${failure.cause} (${formed('code', failure.code)})`,
    detail: own`Nothing was sent.`,
    nextStep: hints.nextStep === undefined ? failure.nextStep : own`${failure.nextStep} ${hints.nextStep}`,
    file: hints.file,
  });
}

/** Appends the system's error code, such as `ECONNRESET`, if there is one. */
function appendErrorCode(detail: OwnWords, error: UnreadableAnswer): OwnWords {
  const cause = causesOf(error).find(({ code }) => /^[A-Z][A-Z0-9_]{2,40}$/.test(code));
  return cause === undefined ? detail : own`${detail} (${formed('code', cause.code)})`;
}

function causesOf(error: Error): { code: string; syscall: string | null }[] {
  const causes: { code: string; syscall: string | null }[] = [];
  for (let cause = error.cause; cause instanceof Error; cause = cause.cause)
    if ('code' in cause)
      causes.push({ code: String(cause.code), syscall: 'syscall' in cause ? String(cause.syscall) : null });
  return causes;
}

function fromPayment(error: unknown, nextStep: OwnWords | undefined): CliError | null {
  if (error instanceof TermsRefused)
    return new CliError('refused', { reason: error.why, title: error.detail, nextStep: nextStep ?? error.nextStep });
  if (error instanceof PaymentUndecided)
    return new CliError('unknown', {
      doNotPayAgain: true,
      reason: 'payment_undecided',
      title: own`The wait ended before the payment was final. The signed payment is saved`,
      nextStep: own`Do not pay again. Run the same command, or openaisle wait, to resume: nothing is paid twice.`,
    });
  if (error instanceof PaymentMayBeLost)
    return new CliError('unknown', {
      doNotPayAgain: true,
      reason: 'payment_may_be_lost',
      title: own`The market lost some history, and a transfer on the chain may have paid for this`,
      detail:
        error.txHash === null ? undefined : own`Transaction ${formed('hash', error.txHash)}. Nothing more was paid.`,
      nextStep: nextStep ?? own`Find out what that transaction paid for. If it paid for this, ask the recipient.`,
    });
  if (error instanceof ArtifactMismatch)
    return new CliError('unknown', {
      doNotPayAgain: true,
      reason: 'goods_mismatch',
      title: own`The delivered goods don’t match the listing`,
      nextStep: own`Do not pay again. Keep the receipt, and flag the listing.`,
    });
  return null;
}

const CLASS_NAME = /^[A-Z][A-Za-z]{1,40}$/;

/** Returns the error's class name. It is safe to print, because libraries choose it and markets can't. */
function classNameOf(error: unknown): OwnWords {
  return error instanceof Error && CLASS_NAME.test(error.name) ? ofSource(error.name) : own`unknown type`;
}

// Never uses the message of an unknown error, because it may quote a secret that failed to parse.
function fromSystem(error: unknown, hints: Hints): CliError {
  const { code, path, syscall } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new CliError('wrong_use', {
      reason: 'disk_full',
      title: own`There is no room left for the file (${formed('code', code)})`,
      nextStep: hints.nextStep ?? own`Free some space, then run the same command again: it continues.`,
      file: hints.file ?? path,
    });
  }
  if (code !== undefined && syscall !== undefined) {
    return new CliError('wrong_use', {
      reason: 'file_trouble',
      title: own`A file or folder can’t be used (${formed('code', code)})`,
      nextStep: hints.nextStep,
      file: hints.file ?? path,
    });
  }
  return new CliError('unknown', {
    reason: 'unexpected',
    title: own`An unexpected error occurred (${classNameOf(error)})`,
    ...hints,
  });
}

/** The reason why no connection was made. Nothing was sent, so nothing was done. */
interface ConnectFailure {
  /** For example `ENOTFOUND` or `CERT_HAS_EXPIRED`. */
  code: string;
  cause: OwnWords;
  nextStep: OwnWords;
}

const CHECK_ADDRESS = own`Check --market or OPENAISLE_MARKET.`;
const CHECK_CONNECTION = own`Check this machine’s connection, then run the same command again.`;
const CONNECT_FAILURES: Readonly<Record<string, readonly [cause: OwnWords, nextStep: OwnWords]>> = {
  ENOTFOUND: [own`the host name is unknown`, own`${CHECK_ADDRESS} If it is right, check this machine’s connection.`],
  EAI_AGAIN: [own`the name lookup failed`, CHECK_CONNECTION],
  ECONNREFUSED: [
    own`nothing is listening at that address and port`,
    own`${CHECK_ADDRESS} If it is right, the market is down: try later.`,
  ],
  EHOSTUNREACH: [own`the host is unreachable`, CHECK_CONNECTION],
  ENETUNREACH: [own`there is no network`, CHECK_CONNECTION],
  EADDRNOTAVAIL: [own`there is no network`, CHECK_CONNECTION],
  UND_ERR_CONNECT_TIMEOUT: [own`the connection timed out`, CHECK_CONNECTION],
  ETIMEDOUT: [own`the connection timed out`, CHECK_CONNECTION],
  ERR_SSL_WRONG_VERSION_NUMBER: [own`it doesn’t use TLS`, own`${CHECK_ADDRESS} A market on this machine may use http.`],
  ERR_SSL_PACKET_LENGTH_TOO_LONG: [
    own`it doesn’t use TLS`,
    own`${CHECK_ADDRESS} A market on this machine may use http.`,
  ],
};
const CERTIFICATE = /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_CERT_ALTNAME_INVALID$|HOSTNAME_MISMATCH$)/;

/** Returns null if a request may have been sent. */
function findConnectFailure(error: unknown): ConnectFailure | null {
  if (!(error instanceof UnreadableAnswer) || error.why !== 'no_answer' || error.status !== null) return null;
  for (const { code, syscall } of causesOf(error)) {
    // The same codes can end an open connection after the request was sent. Only `connect` and `getaddrinfo` fail before it is sent.
    if (syscall !== null && syscall !== 'connect' && syscall !== 'getaddrinfo') return null;
    const [cause, nextStep] = CONNECT_FAILURES[code] ?? [];
    if (cause !== undefined && nextStep !== undefined) return { code, cause, nextStep };
    if (CERTIFICATE.test(code))
      return {
        code,
        cause: own`its TLS certificate isn’t trusted here`,
        nextStep: own`${CHECK_ADDRESS} If it is right, stop: someone else may be answering in its place. For a private certificate authority set NODE_EXTRA_CA_CERTS.`,
      };
  }
  return null;
}
