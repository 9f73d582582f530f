import { Refusal } from '../../platform/refusal.ts';

/** A JSON object without `action` is the former one-call flow, which gave a key without having it saved first (W10). */
export function retiredFlow(raw: unknown): Refusal | null {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw) || Object.hasOwn(raw, 'action')) return null;
  return new Refusal('retired_flow', {
    detail: 'A key is given in two steps now: the first shows it once, a confirm with it makes it real.',
    nextStep:
      'Send action stage to /api/register, or action begin to /api/rotate; then confirm with the key that it shows.',
  });
}
