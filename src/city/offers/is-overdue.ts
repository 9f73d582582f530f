import { RECOVERY_HOURS } from '../../contract/vocabulary.ts';
import type { Offer } from './offer.ts';

/** Whether its payment was waited for as long as the city waits. */
export function isOverdue({ pendingSince }: Pick<Offer, 'pendingSince'>, nowMs: number): boolean {
  return pendingSince !== null && nowMs - pendingSince.getTime() >= RECOVERY_HOURS * 3_600_000;
}
