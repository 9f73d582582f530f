import { named, type OwnWords, ofOwner, own } from '../contract/own-words.ts';
import { UnreadableAnswer } from '../sdk/errors.ts';
import { type Cli, type Connect, connectTo, findOwner, type Owner } from './cli.ts';
import { CliError, reasonOf, toCliError } from './cli-error.ts';
import type { Identity, IdentityFile, Pending } from './identity.ts';

export interface Finished {
  path: string;
  content: Identity;
}

/** Confirms the pending change and records the outcome. Until the market has answered, the file keeps both the old and the new key. */
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
        title: own`This market knows neither this pending change nor its key`,
        detail: own`The saved key and codes are kept in the file under “previous”.`,
        nextStep: own`Check that this is the right market, then start again.`,
        file: file.path,
      });
    }
  }
}

function promotePending(content: Identity, { door, merchant_key, recovery_codes }: Pending): Identity {
  const base = { ...content, merchant_key, pending: null, key_refused_at: null };
  if (recovery_codes === null) return { ...base, waiting_codes: null, previous: [] };
  const fresh = { ...base, recovery_codes, waiting_codes: null, codes_in_doubt_since: null };
  // A key under `previous` may belong to another store. A registration doesn't show that it is obsolete, so keep it.
  return door === 'register' ? fresh : { ...fresh, previous: [] };
}

async function reportExpired(
  connect: Connect,
  file: IdentityFile,
  { content, pending, at }: { content: Identity; pending: Pending; at: string },
): Promise<never> {
  const expired = {
    reason: 'stage_over',
    title: own`This change has expired and was never confirmed`,
    file: file.path,
  };
  const { merchant_key: key } = content;
  if (key === null && content.previous.length === 0) {
    await file.remove();
    const nextStep = pending.door === 'register' ? own`Run openaisle join again.` : own`Run openaisle recover again.`;
    throw new CliError('refused', {
      ...expired,
      detail: own`Its key and codes are useless, so the file was removed.`,
      nextStep,
    });
  }
  await file.save({ ...content, pending: null });
  if (key === null) throw new CliError('refused', { ...expired, nextStep: own`Start again.` });
  const owner = await findOwner(connect, key).catch(() => undefined);
  if (owner === null) {
    await file.save({ ...content, pending: null, key_refused_at: at });
    const detail = own`The file’s other key isn’t valid either: it was replaced elsewhere.`;
    const nextStep = own`Use the file with the newer key, or run openaisle recover with a recovery code.`;
    throw new CliError('refused', { ...expired, reason: 'key_replaced', detail, nextStep });
  }
  const keyState = owner === undefined ? own`was valid when this began` : own`is still valid`;
  throw new CliError('refused', {
    ...expired,
    detail: own`The key in the file ${keyState}.`,
    nextStep: own`Start again.`,
  });
}

/** The new key is valid, but the file still lists it as pending. Nothing is lost, because the next run saves it. */
function unwrittenFile(error: unknown, file: string, resume: OwnWords): CliError {
  const { title: detail } = toCliError(error).parts;
  const title = own`Confirmed, but the file couldn’t be updated`;
  return new CliError('unknown', {
    reason: 'file_trouble',
    title,
    detail,
    nextStep: own`Make the file writable, then run ${resume}`,
    file,
  });
}

function keyReplaced(file: string): CliError {
  return new CliError('refused', {
    reason: 'key_replaced',
    title: own`This was confirmed, but its key has since been replaced elsewhere`,
    nextStep: own`Use the file with the newer key, or run openaisle recover with a recovery code.`,
    file,
  });
}

function nextStepOf(error: unknown, resume: OwnWords): OwnWords {
  const reason = reasonOf(error);
  const isHandleTaken = reason === 'handle_taken' || reason === 'handle_reserved';
  if (isHandleTaken) return own`Choose another handle: ${resume} --new-handle NAME`;
  return own`The key and codes are saved. To finish, run ${resume} within 15 minutes of starting. Later, the same command tells you how it ended.`;
}

type Ending =
  | ({ kind: 'confirmed' } & Owner)
  /** The change was confirmed, and its key has been replaced since. */
  | { kind: 'replaced' }
  /** The change was not confirmed, and no longer can be. */
  | { kind: 'over' }
  /** The market knows neither the change nor its key. */
  | { kind: 'unknown' };

/**
 * Confirms the change, or finds out how it ended. `stage_closed` doesn't say whether it was confirmed, so this function cancels the change.
 * The cancellation fails if the change was confirmed, and otherwise stops a confirmation that is still on its way.
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
  if (answer.status !== 'confirmed')
    throw new UnreadableAnswer('unexpected', own`the answer doesn’t fit a confirmation`);
  return { merchantId: answer.merchant_id, handle: answer.handle };
}

function endingOf(owner: Owner | null, otherwise: 'replaced' | 'unknown'): Ending {
  return owner === null ? { kind: otherwise } : { kind: 'confirmed', ...owner };
}

const COMMAND_OF = { register: 'join', rotate: 'rotate', recovery: 'recover' } as const;

/** Returns the command that finishes a file's pending change. */
export function resumeCommand({ door }: Pick<Pending, 'door'>, path: string): OwnWords {
  return own`openaisle ${named(COMMAND_OF[door])} --resume --file ${ofOwner(shellWord(path))}`;
}

function shellWord(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
