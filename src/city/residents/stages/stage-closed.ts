import { Refusal } from '../../../platform/refusal.ts';

export function stageClosed(): Refusal {
  return new Refusal('stage_closed', {
    nextStep: 'If it was confirmed, the key that it showed is in force. Otherwise begin a new stage.',
  });
}
