import { AgentError } from '../agent/agent-error.ts';
import { MarketError, UnreadableAnswer } from '../sdk/errors.ts';

/** Refused: the market said no, or the word it gave ends this. Wrong use: nothing of weight was sent. Unknown: it may have happened. */
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
    });
  }
  if (error instanceof UnreadableAnswer) {
    const nextStep = said.nextStep ?? 'Look at the address and the network, then run the same command again.';
    return new CliError('unknown', {
      reason: error.why,
      title: 'The market gave no answer that can be read',
      detail: error.message,
      nextStep,
      file: said.file,
      requestId: error.requestId,
    });
  }
  return fromSystem(error, said);
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
