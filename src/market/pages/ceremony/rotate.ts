import { beginRotation } from '../../identity/begin-rotation.ts';
import { confirmRotation } from '../../identity/confirm-rotation.ts';
import type { Ceremony } from './ceremony.ts';
import { renderTextField } from './fields.ts';

const keyOf = (form: Readonly<Record<string, string>>): string => (form['merchant_key'] ?? '').trim();

export const rotate: Ceremony = {
  kind: 'rotate',
  door: 'rotate',
  path: '/rotate',
  showsCodes: false,
  secretFields: ['merchant_key'],
  words: {
    title: 'Rotate a key',
    lead: 'Replace your merchant key by a new one. The recovery codes stay as they are.',
    before: [
      'Have a safe place ready: the new key is shown once.',
      'Until you confirm, the old key is the key. From then on it is dead everywhere, and so is whatever was linked with it.',
    ],
    beginButton: 'Show a new key',
    secrets: 'The new key',
    confirmButton: 'Replace the old key',
    unchanged: 'The old key is still the key.',
    doneTitle: 'The key is replaced',
    done: ({ handle }) => [
      `The new key of ${handle} is in force.`,
      'The old key is dead, on every machine that had it.',
      'Hosts that were linked, and pairing codes that were open, are out. The recovery codes are the same as before.',
    ],
    doneElsewhere: 'The old key is dead, and the key that was shown is in force.',
    next: {
      before: 'Put the new key where your agent reads it. If the old one may have been stolen, ',
      address: '/recovery',
      name: 'recover',
      after: ' as well: that replaces the codes.',
    },
  },

  renderFields: (_typed, faults) =>
    renderTextField({
      name: 'merchant_key',
      label: 'Current merchant key',
      hint: 'It is only held against the key in force, and not kept.',
      faults,
      type: 'password',
      autocomplete: 'current-password',
      isMachine: true,
      isSecret: true,
    }),

  check: (form) =>
    keyOf(form) === '' ? [{ field: 'merchant_key', message: 'Type or paste the key that is in force.' }] : [],

  begin: (market, form, clientNetwork) => beginRotation(market, keyOf(form), clientNetwork),

  confirm: (market, { session, csrf, key, clientNetwork }) =>
    confirmRotation(market, { body: { action: 'confirm', session, csrf }, bearer: key, clientNetwork }),
};
