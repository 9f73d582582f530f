import { AgentError } from '../agent/agent-error.ts';
import type { MarketWords } from '../contract/foreign-words.ts';
import { formed, type OwnWords, ofOwner, ofSource, own } from '../contract/own-words.ts';
import { MarketError, rowOf, UnreadableAnswer } from '../sdk/errors.ts';
import { ArtifactMismatch } from '../sdk/payments/artifact-commitment.ts';
import { PaymentMayBeLost, TermsRefused } from '../sdk/payments/payment-errors.ts';
import { PaymentUndecided } from '../sdk/payments/payment-run.ts';
import type { Line } from './printable.ts';

/** Refused: the market said no, or the word it gave ends this. Wrong use: nothing of weight was sent. Unknown: it may have happened, or money has moved. */
export const EXITS = { refused: 1, wrong_use: 2, unknown: 3 } as const;
export type Trouble = keyof typeof EXITS;

export interface ErrorDetails {
  reason: string;
  title: OwnWords;
  detail?: OwnWords | undefined;
  nextStep?: OwnWords | undefined;
  /** The market's words on it, apart from our own. */
  market?: MarketWords | undefined;
  /** The steps that were done, a line each. */
  lines?: readonly Line[] | undefined;
  /** A seller's text may be in its name. */
  file?: string | undefined;
  retryAfterSeconds?: number | null | undefined;
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

export function wrongUse(title: OwnWords, nextStep?: OwnWords, reason = 'wrong_use'): CliError {
  return new CliError('wrong_use', { reason, title, nextStep });
}

/** Whether the request may have been carried out although no success came back. */
export function isUnknown(error: unknown): boolean {
  if (error instanceof MarketError) return error.status >= 500 && error.reason !== 'door_closed';
  if (error instanceof AgentError) return error.trouble === 'unknown';
  if (error instanceof TermsRefused || neverConnected(error) !== null) return false;
  return !(error instanceof CliError);
}

/** Adds what a command alone knows: what to do next, and the file that it is about. */
interface Said {
  nextStep?: OwnWords | undefined;
  file?: string | undefined;
}

/** Any error as one that can be told. `said` adds what only the command knows: the file, and what to do next. */
export function toCliError(error: unknown, said: Said = {}): CliError {
  if (error instanceof CliError) return error;
  if (error instanceof AgentError) return new CliError(error.trouble, error.parts);
  if (error instanceof MarketError) {
    const { requestId, retryAfterSeconds } = error;
    const { reason, title, nextStep, market } = refusalIn(error);
    return new CliError(isUnknown(error) ? 'unknown' : 'refused', {
      ...{ reason, title, market },
      nextStep: said.nextStep ?? nextStep,
      file: said.file,
      retryAfterSeconds,
      requestId,
      doNotPayAgain: error.doNotPayAgain ?? undefined,
    });
  }
  if (error instanceof UnreadableAnswer) return fromUnreadable(error, said);
  return fromPayment(error, said.nextStep) ?? fromSystem(error, said);
}

/** A refusal in the words of this version's own table; what the market said beyond them stands apart. */
function refusalIn({ reason, problem }: MarketError): Pick<ErrorDetails, 'reason' | 'title' | 'nextStep' | 'market'> {
  const known = rowOf(reason);
  const row = problem.status === 402 ? (known?.of_proof ?? known) : known;
  const said = {
    ...(row === undefined ? { reason, title: problem.title } : {}),
    ...(problem.detail === row?.title ? {} : { detail: problem.detail }),
    ...(problem.next_step === row?.next_step ? {} : { next_step: problem.next_step }),
    ...(problem.errors === undefined ? {} : { errors: problem.errors }),
  };
  const market = Object.keys(said).length === 0 ? undefined : said;
  if (row !== undefined) return { reason, title: ofSource(row.title), nextStep: ofSource(row.next_step), market };
  return {
    reason: 'unknown_reason',
    title: own`The market refused it, for a reason that this version does not know`,
    nextStep: own`Take what it says as its own word. A newer version of this program may know the reason.`,
    market,
  };
}

function fromUnreadable(error: UnreadableAnswer, said: Said): CliError {
  const { why, detail, nextStep, requestId } = error;
  const never = neverConnected(error);
  if (never === null)
    return new CliError('unknown', {
      reason: why,
      title: own`The market gave no answer that can be read`,
      detail: withCode(detail, error),
      nextStep: said.nextStep ?? nextStep,
      file: said.file,
      requestId,
    });
  const [address = ''] = /https?:\/\/[^\s;]+/.exec(detail) ?? [];
  return new CliError('refused', {
    reason: 'not_connected',
    title: own`No connection to ${ofOwner(address)}: ${never.cause} (${formed('code', never.code)})`,
    detail: own`Nothing was sent.`,
    nextStep: said.nextStep === undefined ? never.nextStep : own`${never.nextStep} ${said.nextStep}`,
    file: said.file,
  });
}

/** The system's own word for what went wrong, where there is one: `ECONNRESET`, `EPROTO`. */
function withCode(detail: OwnWords, error: UnreadableAnswer): OwnWords {
  const found = causesOf(error).find(({ code }) => /^[A-Z][A-Z0-9_]{2,40}$/.test(code));
  return found === undefined ? detail : own`${detail} (${formed('code', found.code)})`;
}

function causesOf(error: Error): { code: string; syscall: string | null }[] {
  const causes: { code: string; syscall: string | null }[] = [];
  for (let cause = error.cause; cause instanceof Error; cause = cause.cause)
    if ('code' in cause)
      causes.push({ code: String(cause.code), syscall: 'syscall' in cause ? String(cause.syscall) : null });
  return causes;
}

/** What the SDK's payers throw. */
function fromPayment(error: unknown, nextStep: OwnWords | undefined): CliError | null {
  if (error instanceof TermsRefused)
    return new CliError('refused', { reason: error.why, title: error.detail, nextStep: nextStep ?? error.nextStep });
  if (error instanceof PaymentUndecided)
    return new CliError('unknown', {
      doNotPayAgain: true,
      reason: 'payment_undecided',
      title: own`The wait ended before the payment was decided; what was signed is kept`,
      nextStep: own`Do not pay again. The same command goes on with it and pays nothing twice, as does openaisle wait.`,
    });
  if (error instanceof PaymentMayBeLost)
    return new CliError('unknown', {
      doNotPayAgain: true,
      reason: 'payment_may_be_lost',
      title: own`The market lost history, and the chain shows a payment that may be the one for this`,
      detail:
        error.txHash === null ? undefined : own`Transaction ${formed('hash', error.txHash)}. Nothing more was paid.`,
      nextStep: nextStep ?? own`Find out what that transaction paid for; if it was this, ask who received it.`,
    });
  if (error instanceof ArtifactMismatch)
    return new CliError('unknown', {
      doNotPayAgain: true,
      reason: 'goods_mismatch',
      title: own`The goods that came are not what the listing promised`,
      nextStep: own`Do not pay again. Keep the receipt, and flag the listing.`,
    });
  return null;
}

const NAME = /^[A-Z][A-Za-z]{1,40}$/;

/** The name of its class, which libraries choose and no market. */
function nameOf(error: unknown): OwnWords {
  return error instanceof Error && NAME.test(error.name) ? ofSource(error.name) : own`no error of a known class`;
}

// Never the message of an error that is not known: it may quote what it could not read.
function fromSystem(error: unknown, said: Said): CliError {
  const { code, path, syscall } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  if (code !== undefined && syscall !== undefined) {
    return new CliError('wrong_use', {
      reason: 'file_trouble',
      title: own`A file or folder cannot be used (${formed('code', code)})`,
      nextStep: said.nextStep,
      file: said.file ?? path,
    });
  }
  return new CliError('unknown', {
    reason: 'unexpected',
    title: own`An unexpected error (${nameOf(error)})`,
    ...said,
  });
}

/** Why a connection was never made: nothing was sent, so nothing was done. */
interface NeverConnected {
  /** `ENOTFOUND`, `ECONNREFUSED`, `CERT_HAS_EXPIRED`. */
  code: string;
  cause: OwnWords;
  nextStep: OwnWords;
}

const ADDRESS = own`Look at --market, or at OPENAISLE_MARKET.`;
const NETWORK = own`Look whether this machine is connected, then run the same command again.`;
const REASONS: Readonly<Record<string, readonly [cause: OwnWords, nextStep: OwnWords]>> = {
  ENOTFOUND: [own`its name is not known`, own`${ADDRESS} If it is right, look whether this machine is connected.`],
  EAI_AGAIN: [own`names cannot be looked up now`, NETWORK],
  ECONNREFUSED: [
    own`nothing listens at that address and port`,
    own`${ADDRESS} If it is right, the market is down: try later.`,
  ],
  EHOSTUNREACH: [own`there is no way to it`, NETWORK],
  ENETUNREACH: [own`there is no network`, NETWORK],
  EADDRNOTAVAIL: [own`there is no network`, NETWORK],
  UND_ERR_CONNECT_TIMEOUT: [own`no connection came about in time`, NETWORK],
  ETIMEDOUT: [own`no connection came about in time`, NETWORK],
  ERR_SSL_WRONG_VERSION_NUMBER: [own`it does not speak TLS`, own`${ADDRESS} A market on this machine may be http.`],
  ERR_SSL_PACKET_LENGTH_TOO_LONG: [own`it does not speak TLS`, own`${ADDRESS} A market on this machine may be http.`],
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
        cause: own`its TLS certificate is not valid here`,
        nextStep: own`${ADDRESS} If it is right, do not go on: another may be answering in its place. A private authority is named by NODE_EXTRA_CA_CERTS.`,
      };
  }
  return null;
}
