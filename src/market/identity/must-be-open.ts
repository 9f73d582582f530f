import type { IdentityDoor } from '../../contract/vocabulary.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { MarketConfig } from '../context.ts';

/** Each door can be closed by the operator (OPENAISLE_DOORS). */
export function mustBeOpen({ openDoors }: Pick<MarketConfig, 'openDoors'>, door: IdentityDoor): void {
  if (!openDoors.has(door)) throw new Refusal('door_closed');
}
