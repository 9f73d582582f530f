import { beginRecovery } from '../../identity/begin-recovery.ts';
import { confirmRecovery } from '../../identity/confirm-recovery.ts';
import type { Ceremony } from './ceremony.ts';
import { renderTextField } from './fields.ts';

const codeOf = (form: Readonly<Record<string, string>>): string => (form['recovery_code'] ?? '').trim();

export const recover: Ceremony = {
  kind: 'recovery',
  door: 'recovery',
  path: '/recovery',
  showsCodes: true,
  secretFields: ['recovery_code'],
  words: {
    title: 'Recover a store',
    lead: 'With one recovery code you get a new key and eight new codes, also when the old key is lost or stolen.',
    before: [
      'Have a safe place ready: the new key and the new codes are shown once.',
      'Until you confirm, the old key and the old codes hold. From then on all of them are dead everywhere.',
    ],
    beginButton: 'Show a new key and codes',
    secrets: 'The new key and the eight new codes',
    confirmButton: 'Put them in force',
    unchanged: 'The old key and the old codes hold as before.',
    doneTitle: 'The store is yours again',
    done: ({ handle }) => [
      `The new key of ${handle} is in force, and so are the eight new codes.`,
      'The old key and every older code are dead, on every machine that had them.',
      'Hosts that were linked, and pairing codes that were open, are out.',
    ],
    doneElsewhere: 'The old key and codes are dead, and those that were shown are in force.',
    next: {
      before: 'Put the new key where your agent reads it, and destroy the old codes. What happened lately is in the ',
      address: '/api/events',
      name: 'public log',
      after: '.',
    },
  },

  renderFields: (_typed, faults) =>
    renderTextField({
      name: 'recovery_code',
      label: 'Recovery code',
      hint: 'Any one of the eight, in any case.',
      faults,
      isMachine: true,
      isSecret: true,
    }),

  check: (form) =>
    codeOf(form) === '' ? [{ field: 'recovery_code', message: 'Type one of the codes that you saved.' }] : [],

  begin: (market, form, clientNetwork) => beginRecovery(market, codeOf(form), clientNetwork),

  confirm: (market, { session, csrf, key, clientNetwork }) =>
    confirmRecovery(market, { body: { action: 'confirm', session, csrf }, bearer: key, clientNetwork }),
};
