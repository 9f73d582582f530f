import { formed, ofOwner, own } from '../contract/own-words.ts';
import { type Cli, connectTo } from './cli.ts';
import { CliError, wrongUse } from './cli-error.ts';
import { cancelChange, type Finished, finishPending, resumeCommand } from './finish-pending-change.ts';
import {
  emptyIdentity,
  type Identity,
  type IdentityFile,
  type Pending,
  SECRET_TEXT,
  withIdentityFile,
} from './identity.ts';
import { defaultFile, marketOf } from './open-account.ts';

/** New secrets, which the identity endpoint shows only once. */
export interface StartedChange {
  pending: Pending;
  handle: string;
  currentKey: string | null;
}

/** Steps of `join`, `rotate` and `recover`. New secrets are saved to disk before the confirmation can make them the only valid ones. */
export interface IdentityCommand {
  /** The merchant's file. Null if only the market's answer says which one it is. */
  path: string | null;
  market(content: Identity | null, path: string): string;
  /** Throws if the file is unsuitable, before anything is sent. */
  check?(content: Identity | null, path: string): void;
  begin(content: Identity | null, market: string): Promise<StartedChange>;
}

export async function runIdentityCommand(cli: Cli, command: IdentityCommand): Promise<Finished> {
  if (command.path !== null) return withIdentityFile(command.path, (file) => runInFile(cli, file, command, null));
  const market = command.market(null, '');
  // Only the market's answer gives the file's name, but the folder can be checked now.
  await withIdentityFile(defaultFile(cli, market, 'any'), (file) => file.mustBeWritable());
  const started = await command.begin(null, market);
  return withIdentityFile(defaultFile(cli, market, started.handle), (file) => runInFile(cli, file, command, started));
}

async function runInFile(
  cli: Cli,
  file: IdentityFile,
  command: IdentityCommand,
  alreadyStarted: StartedChange | null,
): Promise<Finished> {
  const { path, content } = file;
  const market = command.market(content, path);
  let started = alreadyStarted;
  let saved: Identity;
  try {
    if (alreadyStarted !== null && market !== command.market(null, ''))
      throw wrongUse(own`${ofOwner(path)} belongs to ${ofOwner(market)}`, own`Name another file with --file.`);
    mustHoldNothingPending(content, path);
    command.check?.(content, path);
    if (started === null) await file.mustBeWritable();
    started ??= await command.begin(content, market);
    saved = withPending(content, started, market, path);
    await file.save(saved);
  } catch (error) {
    // The secrets weren't saved, so the change must never be confirmed. If the cancel fails too, the change expires.
    const at = alreadyStarted === null ? market : command.market(null, '');
    if (started !== null) await cancelChange(connectTo(cli, at), started.pending).catch(() => {});
    throw error;
  }
  return finishPending(cli, file, { market, content: saved, pending: started.pending });
}

function withPending(
  content: Identity | null,
  { pending, handle, currentKey }: StartedChange,
  market: string,
  path: string,
): Identity {
  const kept = content ?? emptyIdentity(market, handle);
  if (kept.merchant_key !== null && kept.handle !== handle)
    throw wrongUse(
      own`${ofOwner(path)} belongs to ${formed('handle', kept.handle)}, not to ${formed('handle', handle)}`,
      own`Name another file with --file.`,
    );
  if (
    currentKey !== null &&
    kept.merchant_key !== null &&
    kept.merchant_key !== currentKey &&
    kept.key_refused_at === null
  )
    throw wrongUse(own`${ofOwner(path)} has a different key`, own`Name another file with --file.`);
  const added = { ...kept, market, handle, pending };
  return currentKey === null ? added : { ...added, merchant_key: currentKey, key_refused_at: null };
}

export function mustHoldNothingPending(content: Identity | null, path: string): void {
  if (content?.pending == null) return;
  throw new CliError('wrong_use', {
    reason: 'pending',
    title: own`${ofOwner(path)} has an unconfirmed key change`,
    nextStep: own`Run ${resumeCommand(content.pending, path)}`,
    file: path,
  });
}

export function resumeIdentityCommand(
  cli: Cli,
  { path, door, newHandle }: { path: string; door: Pending['door']; newHandle?: string | undefined },
): Promise<Finished> {
  return withIdentityFile(path, async (file) => {
    const { content } = file;
    const pending = content?.pending ?? null;
    if (content === null || pending === null) {
      const title =
        content === null ? own`There is no file ${ofOwner(path)}` : own`${ofOwner(path)} has no unconfirmed change`;
      throw new CliError('wrong_use', { reason: 'nothing_pending', title, file: path });
    }
    if (pending.door !== door)
      throw wrongUse(own`This file has a different unconfirmed change`, own`Run ${resumeCommand(pending, path)}`);
    return finishPending(cli, file, { market: marketOf(cli, content, path), content, pending }, newHandle);
  });
}

/** Converts the first answer of an identity endpoint to the file's form. Throws if a secret couldn't be sent in a header. */
export function pendingOf(
  door: Pending['door'],
  staged: {
    session: string;
    csrf: string;
    merchant_key: string;
    expires_at: string;
    recovery_codes?: readonly string[];
  },
): Pending {
  const { session, csrf, merchant_key, expires_at } = staged;
  const codes = staged.recovery_codes === undefined ? null : [...staged.recovery_codes];
  if (![session, csrf, merchant_key, ...(codes ?? [])].every((text) => SECRET_TEXT.test(text)))
    throw new CliError('refused', {
      reason: 'unexpected',
      title: own`The market sent an unusable key or recovery code`,
    });
  return { door, session, csrf, merchant_key, recovery_codes: codes, expires_at };
}
