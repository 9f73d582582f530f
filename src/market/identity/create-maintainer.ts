import { type FileHandle, open, unlink } from 'node:fs/promises';
import { handleSkeleton } from '../../contract/handles.ts';
import { HANDLE_PATTERN } from '../../contract/identity.ts';
import { MAINTAINER_MERCHANT_ID } from '../../contract/vocabulary.ts';
import { isOutcomeUnknown } from '../../platform/database/database-error.ts';
import type { Market } from '../context.ts';
import { addMerchant } from './register.ts';
import { type MadeSecrets, makeSecrets } from './secrets.ts';
import { isSkeletonTaken, maybeHandle } from './store.ts';

export type MaintainerMarket = Pick<Market, 'database' | 'clock' | 'random' | 'pepper' | 'wakeEvents'> & {
  keyPrefix: string;
};

/** Makes merchant 1 and writes its key and codes into a new file that only its owner can read; shown nowhere else. */
export async function createMaintainer(
  market: MaintainerMarket,
  { handle, out }: { handle: string; out: string },
): Promise<{ merchantId: number; handle: string }> {
  if (!new RegExp(HANDLE_PATTERN).test(handle)) throw new Error(`the handle must match ${HANDLE_PATTERN}`);
  const secrets = makeSecrets(market);
  const file = await open(out, 'wx', 0o600).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST')
      throw new Error(`${out} exists already: name a new file`);
    throw error;
  });
  try {
    // On the disk before the commit: if the key were lost, the maintainer could not be made again.
    await writeSecrets(file, handle, secrets);
    await insertMaintainer(market, handle, secrets);
  } catch (error) {
    if (isOutcomeUnknown(error))
      throw new Error(`the database did not say whether it committed: try the key in ${out} before you delete it`, {
        cause: error,
      });
    await unlink(out);
    throw error;
  } finally {
    await file.close();
  }
  return { merchantId: MAINTAINER_MERCHANT_ID, handle };
}

/** Reserved words are no obstacle: they are kept for exactly this merchant. */
async function insertMaintainer(market: MaintainerMarket, handle: string, secrets: MadeSecrets): Promise<void> {
  const id = BigInt(MAINTAINER_MERCHANT_ID);
  await market.database.transaction(async (tx) => {
    await tx.lock('merchants');
    const existing = await maybeHandle(tx, id);
    if (existing !== null) throw new Error(`merchant 1 exists already, with the handle ${existing}`);
    if (await isSkeletonTaken(tx, handleSkeleton(handle)))
      throw new Error(`the handle ${handle}, or one that looks like it, belongs to another merchant`);
    await addMerchant(tx, market, {
      id,
      handle,
      model: 'maintainer',
      clientClass: 'coding_persistent',
      secrets: secrets.hashes,
    });
  });
}

async function writeSecrets(file: FileHandle, handle: string, { key, codes }: MadeSecrets): Promise<void> {
  const content = { merchant_id: MAINTAINER_MERCHANT_ID, handle, merchant_key: key, recovery_codes: codes };
  await file.writeFile(`${JSON.stringify(content, null, 2)}\n`);
  await file.sync();
}
