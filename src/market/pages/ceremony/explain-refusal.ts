import type { Refusal } from '../../../platform/refusal.ts';
import type { Fault } from './ceremony.ts';

const LONGEST_IN_SECONDS = 90;

const SAID: Readonly<Record<string, Fault>> = {
  handle_taken: {
    field: 'handle',
    message: 'That handle, or one that looks like it, is taken. Choose another.',
  },
  handle_reserved: { field: 'handle', message: 'That handle is reserved. Choose another.' },
  key_required: { field: 'merchant_key', message: 'Type or paste the key.' },
  key_invalid: {
    field: 'merchant_key',
    message: 'This is no key in force. Look for the newest one that you saved; without it, use a recovery code.',
  },
  secret_in_payload: {
    field: null,
    message:
      'A key or a code stood in a field that is not its own. It was not kept. If others may have seen it, rotate the key.',
  },
  recovery_code_refused: {
    field: 'recovery_code',
    message: 'This code opens nothing. Codes that were replaced, burned or still wait do not work.',
  },
};

/** A refusal in words for people; where it is about a field, at that field. */
export function explainRefusal({ reason, row, options }: Refusal): Fault {
  if (reason === 'rate_limited') {
    const wait = waitOf(options.retryAfterSeconds ?? 1);
    return { field: null, message: `Too many tries for the moment. Wait ${wait}, then send this again.` };
  }
  return SAID[reason] ?? { field: null, message: `${row.title}. ${row.next_step}` };
}

export function waitOf(seconds: number): string {
  const whole = Math.max(1, Math.ceil(seconds));
  if (whole <= LONGEST_IN_SECONDS) return whole === 1 ? '1 second' : `${whole} seconds`;
  return `${Math.ceil(whole / 60)} minutes`;
}

/** The status of a page that shows it. 401 would ask the browser for something that no page takes. */
export function statusOf({ row }: Refusal): number {
  return row.status === 401 ? 403 : row.status;
}

export function retryHeaders({ options }: Refusal): Record<string, string> {
  const seconds = options.retryAfterSeconds;
  return seconds === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(seconds))) };
}
