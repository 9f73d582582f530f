import { Refusal } from '../../platform/refusal.ts';
import { type Authenticator, findOwner } from './authenticate.ts';
import type { KeyOwner } from './store.ts';

/** Who calls at a door that a key opens, and with which of its keys. */
export async function mustOwnKey(market: Authenticator, bearer: string | null): Promise<KeyOwner> {
  if (bearer === null) throw new Refusal('key_required');
  const owner = await findOwner(market, bearer);
  if (owner === null) throw new Refusal('key_invalid');
  return owner;
}
