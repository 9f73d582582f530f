import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { createClient } from '../../sdk/client.ts';
import { MarketError } from '../../sdk/market-error.ts';
import type { LocalWorld } from '../world.ts';
import type { Person } from './scene.ts';

/** The merchants of the story. */
export const SELLER = 'mira';
export const BUYER = 'tomas';

const keyFile = z.object({ handle: z.string(), merchant_key: z.string() });

/** The merchant whose key lies in the folder, if the market knows it. A key that was never confirmed is none. */
export async function findPerson(world: LocalWorld, handle: string): Promise<Person | null> {
  const file = world.keyFile(handle);
  if (!existsSync(file)) return null;
  const { merchant_key: key } = keyFile.parse(JSON.parse(readFileSync(file, 'utf8')));
  try {
    const { body } = await createClient({ baseUrl: world.marketUrl, key }).getMe({});
    return { id: body.merchant.id, handle, key };
  } catch (error) {
    if (error instanceof MarketError && error.status === 401) return null;
    throw error;
  }
}

/** Before the key is confirmed: it is shown once, and a merchant whose key was not kept is lost. */
export function keepKey(
  world: LocalWorld,
  staged: { handle: string; merchant_key: string; recovery_codes: string[] },
): void {
  const { handle, merchant_key, recovery_codes } = staged;
  const file = world.keyFile(handle);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, `${JSON.stringify({ handle, merchant_key, recovery_codes }, null, 2)}\n`, { mode: 0o600 });
}
