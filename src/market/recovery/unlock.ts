import { open, unlink } from 'node:fs/promises';
import { isOutcomeUnknown } from '../../platform/database/database-error.ts';
import type { Random } from '../../platform/random.ts';
import { CommandRefused } from '../../platform/run-command.ts';
import type { Pepper } from '../context.ts';
import { recordEvent } from '../events/record-event.ts';
import { makeCodes } from '../identity/secrets.ts';
import { endSets, insertSet, lockIdentity } from '../identity/store.ts';
import type { CommandMarket } from '../payments/chain/commands.ts';
import { findLocked } from './store.ts';

export interface Unlocked {
  status: 'unlocked';
  merchant_id: number;
  handle: string;
  file: string;
}

export interface UnlockOptions {
  handle: string;
  /** New file for the codes, readable only by its owner. */
  out: string;
  reason: string;
}

/**
 * Makes new recovery codes for a merchant whose key and codes were lost. The operator hands them to the person known to be the merchant,
 * and the first one used makes a new key. The public log records this with the reason.
 */
export async function unlock(
  market: CommandMarket & { random: Random; pepper: Pepper },
  { handle, out, reason }: UnlockOptions,
): Promise<Unlocked> {
  const { database, clock, config, random, pepper } = market;
  const { codes, codeHashes } = makeCodes({ random, pepper, keyPrefix: config.keyPrefix });
  const file = await open(out, 'wx', 0o600).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST')
      throw new CommandRefused(`${out} exists already: name a new file`);
    throw error;
  });
  try {
    // Write to disk before the commit; otherwise a crash could lose the codes, and new ones would be needed.
    await file.writeFile(`${JSON.stringify({ handle, recovery_codes: codes }, null, 2)}\n`);
    await file.sync();
    const merchantId = await database.transaction(async (tx) => {
      const id = await findLocked(tx, handle);
      if (id === null) throw new CommandRefused(`${handle} is no merchant that waits for this: see --help`);
      await lockIdentity(tx, id);
      const now = new Date(clock.now());
      await endSets(tx, id, 'replaced', now);
      await insertSet(tx, {
        merchantId: id,
        createdAt: now,
        validFrom: now,
        codeHashes,
        pepperVersion: pepper.version,
      });
      const detail = { action: 'unlock', merchant_id: Number(id), reason };
      await recordEvent(tx, { clock, wakeEvents: () => {} }, { kind: 'recovery', actor: 'system', detail });
      return id;
    });
    return { status: 'unlocked', merchant_id: Number(merchantId), handle, file: out };
  } catch (error) {
    if (!isOutcomeUnknown(error)) await unlink(out);
    throw error;
  } finally {
    await file.close();
  }
}
