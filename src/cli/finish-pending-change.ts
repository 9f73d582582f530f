import { named, type OwnWords, ofOwner, own } from '../contract/own-words.ts';
import { MarketError, UnreadableAnswer } from '../sdk/errors.ts';
import { type Cli, type Connect, connectTo, findOwner, type Owner } from './cli.ts';
import { CliError, toCliError } from './cli-error.ts';
import type { Identity, IdentityFile, Pending } from './identity.ts';

export interface Finished {
  path: string;
  content: Identity;
}

/**
 * Confirms what the file holds as pending, and writes down how that ended. Until the market has said so, the file keeps the old key and the
 * new one.
 */
export async function finishPending(
  cli: Cli,
  file: IdentityFile,
  { market, content, pending }: { market: string; content: Identity; pending: Pending },
  newHandle?: string,
): Promise<Finished> {
  const connect = connectTo(cli, market);
  const resume = resumeCommand(pending, file.path);
  const ending = await concludeChange(connect, pending, newHandle).catch((error: unknown) => {
    throw toCliError(error, { file: file.path, nextStep: nextStepOf(error, resume) });
  });
  const at = new Date(cli.now()).toISOString();
  switch (ending.kind) {
    case 'confirmed': {
      const { merchantId, handle } = ending;
      const finished = { ...promotePending(content, pending), handle, merchant_id: merchantId };
      await file.save(finished).catch((error: unknown) => {
        throw unwrittenFile(error, file.path, resume);
      });
      return { path: file.path, content: finished };
    }
    case 'replaced':
      await file.save({ ...promotePending(content, pending), key_refused_at: at });
      throw keyReplaced(file.path);
    case 'over':
      return await reportExpired(connect, file, { content, pending, at });
    case 'unknown': {
      const { merchant_key, recovery_codes } = pending;
      await file.save({ ...content, pending: null, previous: [...content.previous, { merchant_key, recovery_codes }] });
      throw new CliError('refused', {
        reason: 'stage_unknown',
        title: own`This market knows neither the stage nor its key`,
        detail: own`What was saved is set aside in the file under previous.`,
        nextStep: own`Look whether this is the right market, then begin again.`,
        file: file.path,
      });
    }
  }
}

function promotePending(content: Identity, { door, merchant_key, recovery_codes }: Pending): Identity {
  const kept = { ...content, merchant_key, pending: null, key_refused_at: null };
  if (recovery_codes === null) return { ...kept, waiting_codes: null, previous: [] };
  const fresh = { ...kept, recovery_codes, waiting_codes: null, codes_in_doubt_since: null };
  // Another store may have been opened by what was set aside: a new one says nothing about it.
  return door === 'register' ? fresh : { ...fresh, previous: [] };
}

async function reportExpired(
  connect: Connect,
  file: IdentityFile,
  { content, pending, at }: { content: Identity; pending: Pending; at: string },
): Promise<never> {
  const over = { reason: 'stage_over', title: own`This stage is over and was never confirmed`, file: file.path };
  const { merchant_key: key } = content;
  if (key === null && content.previous.length === 0) {
    await file.remove();
    const nextStep = pending.door === 'register' ? own`Run openaisle join again.` : own`Run openaisle recover again.`;
    throw new CliError('refused', {
      ...over,
      detail: own`Its key and codes open nothing: the file is removed.`,
      nextStep,
    });
  }
  await file.save({ ...content, pending: null });
  if (key === null) throw new CliError('refused', { ...over, nextStep: own`Begin again.` });
  const owner = await findOwner(connect, key).catch(() => undefined);
  if (owner === null) {
    await file.save({ ...content, pending: null, key_refused_at: at });
    const detail = own`The other key in the file is not in force either: it was replaced from elsewhere.`;
    const nextStep = own`Use the file that holds the newer key, or openaisle recover with one of the recovery codes.`;
    throw new CliError('refused', { ...over, reason: 'key_replaced', detail, nextStep });
  }
  const still = owner === undefined ? own`was in force when it began` : own`is still in force`;
  throw new CliError('refused', { ...over, detail: own`The key in the file ${still}.`, nextStep: own`Begin again.` });
}

/** It is in force, and the file still calls it pending: nothing is lost, and the next run says the same. */
function unwrittenFile(error: unknown, file: string, resume: OwnWords): CliError {
  const { title: detail } = toCliError(error).parts;
  const title = own`Confirmed, but the file could not be updated`;
  return new CliError('unknown', { reason: 'file_trouble', title, detail, nextStep: own`Then run ${resume}`, file });
}

function keyReplaced(file: string): CliError {
  return new CliError('refused', {
    reason: 'key_replaced',
    title: own`It was confirmed, and its key has been replaced since, from elsewhere`,
    nextStep: own`Use the file that holds the newer key, or openaisle recover with one of the recovery codes.`,
    file,
  });
}

function nextStepOf(error: unknown, resume: OwnWords): OwnWords {
  const reason = error !== null && typeof error === 'object' && 'reason' in error ? error.reason : null;
  const taken = reason === 'handle_taken' || reason === 'handle_reserved';
  if (taken) return own`Choose another handle: ${resume} --new-handle NAME`;
  return own`Key and codes are saved. Within fifteen minutes of the start, ${resume} finishes this; later it tells how it ended.`;
}

/** How a stage ended, as the market says. */
type Ending =
  | ({ kind: 'confirmed' } & Owner)
  /** Confirmed, and its key has been replaced since. */
  | { kind: 'replaced' }
  /** Never confirmed, and never will be. */
  | { kind: 'over' }
  /** The market knows neither the stage nor its key. */
  | { kind: 'unknown' };

/**
 * Confirms the change, or finds out how it ended. A closed stage does not say how it was closed; a cancel does: what was confirmed is not
 * canceled, and what is canceled is never confirmed by a request that is still on its way.
 */
async function concludeChange(connect: Connect, change: Pending, newHandle?: string): Promise<Ending> {
  try {
    return { kind: 'confirmed', ...(await confirmChange(connect, change, newHandle)) };
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === 'not_found') return endingOf(await findOwner(connect, change.merchant_key), 'unknown');
    if (reason !== 'stage_closed') throw error;
  }
  try {
    await cancelChange(connect, change);
    return { kind: 'over' };
  } catch (error) {
    if (reasonOf(error) !== 'stage_closed') throw error;
    return endingOf(await findOwner(connect, change.merchant_key), 'replaced');
  }
}

type ChangeSession = Pick<Pending, 'door' | 'session' | 'csrf'>;

export async function cancelChange(connect: Connect, { door, session, csrf }: ChangeSession): Promise<void> {
  await connect()[door]({ body: { action: 'cancel', session, csrf } });
}

async function confirmChange(connect: Connect, change: Pending, newHandle?: string): Promise<Owner> {
  const { door, session, csrf, merchant_key: key } = change;
  const body = { action: 'confirm' as const, session, csrf };
  const { body: answer } =
    door === 'register'
      ? await connect().register({ key, body: newHandle === undefined ? body : { ...body, handle: newHandle } })
      : await connect()[door]({ key, body });
  if (answer.status !== 'confirmed') throw new UnreadableAnswer('unexpected', own`the answer is not one to a confirm`);
  return { merchantId: answer.merchant_id, handle: answer.handle };
}

function endingOf(owner: Owner | null, otherwise: 'replaced' | 'unknown'): Ending {
  return owner === null ? { kind: otherwise } : { kind: 'confirmed', ...owner };
}

function reasonOf(error: unknown): string | null {
  return error instanceof MarketError ? error.reason : null;
}

const COMMAND_OF = { register: 'join', rotate: 'rotate', recovery: 'recover' } as const;

/** What finishes a change. */
export function resumeCommand({ door }: Pick<Pending, 'door'>, path: string): OwnWords {
  return own`openaisle ${named(COMMAND_OF[door])} --resume --file ${ofOwner(shellWord(path))}`;
}

/** As a shell takes it. */
function shellWord(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
