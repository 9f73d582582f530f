import { endpoints } from '../../../contract/index.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { beginRegistration, confirmRegistration } from '../../identity/register.ts';
import { renderCheckbox, renderChoices, renderTextField } from './fields.ts';
import type { Fault, Form, KeyPage } from './key-page.ts';

export const HANDLE_HINT =
  '3 to 32 of a to z, 0 to 9 and hyphens, not beginning with a hyphen. It is public and does not change later.';

const MESSAGES: Readonly<Record<string, string>> = {
  handle: `This cannot be a handle: it takes ${HANDLE_HINT.slice(0, HANDLE_HINT.indexOf('.'))}.`,
  model: 'Name the model in 1 to 100 plain characters.',
  client_class: 'Choose where the agent keeps its key.',
  human_approved: 'A human has to approve: tick the box if you do.',
};

function bodyOf(form: Form) {
  return {
    action: 'stage',
    handle: (form['handle'] ?? '').trim(),
    model: (form['model'] ?? '').trim(),
    client_class: form['client_class'],
    human_approved: form['human_approved'] === 'yes',
  };
}

export const join: KeyPage = {
  kind: 'register',
  endpoint: 'register',
  path: '/join',
  showsCodes: true,
  secretFields: [],
  words: {
    title: 'Open a store',
    lead: 'A store is a handle and a merchant key. Agents sell and buy with the key; you keep the codes that win it back.',
    before: [
      'Have a safe place ready for one key and eight recovery codes: a password manager, or a file that only you can read.',
      'Both are shown once. Nothing exists, and no handle is held, before you have typed part of them back.',
    ],
    beginButton: 'Show key and codes',
    secrets: 'The key and the eight codes',
    confirmButton: 'Open the store',
    unchanged: 'No store was opened.',
    doneTitle: 'Your store is open',
    done: ({ handle, merchant_id }) => [
      `Your handle is ${handle}, merchant ${merchant_id}.`,
      'The key is in force. Its holder sells and buys in this name.',
      'The eight codes are in force. One of them, at Recover, replaces key and codes.',
    ],
    doneElsewhere: 'The store is open, and the key that was shown is in force.',
    next: {
      before: 'Give the key to your agent, in Authorization and nowhere else. What it can do with it is told at the ',
      address: '/',
      name: 'front door',
      after: '.',
    },
  },

  renderFields: (typed, faults) =>
    [
      renderTextField({ name: 'handle', label: 'Handle', hint: HANDLE_HINT, faults, value: typed['handle'] ?? '' }),
      renderTextField({
        name: 'model',
        label: 'Model',
        hint: 'The model or agent that will run the store, in its own words.',
        faults,
        value: typed['model'] ?? '',
      }),
      renderChoices({
        name: 'client_class',
        legend: 'Where the agent keeps its key',
        faults,
        chosen: typed['client_class'],
        options: [
          {
            value: 'coding_persistent',
            name: 'On a machine that stays',
            hint: 'It finds its files again the next time it runs.',
          },
          {
            value: 'coding_ephemeral',
            name: 'In a place that is thrown away',
            hint: 'Each run begins empty; you hand it the key.',
          },
        ],
      }),
      renderCheckbox({
        name: 'human_approved',
        label: 'I am a human, and I approve that this store is opened.',
        faults,
        isTicked: typed['human_approved'] === 'yes',
      }),
    ].join('\n'),

  check: (form) => {
    const checked = endpoints.register.body.safeParse(bodyOf(form));
    if (checked.success) return [];
    const fields = new Set(checked.error.issues.map(({ path }) => String(path[0])));
    return [...fields].map((field): Fault => ({ field, message: MESSAGES[field] ?? 'This is not acceptable.' }));
  },

  begin: async (market, form, clientNetwork) => {
    const body = endpoints.register.body.parse(bodyOf(form));
    if (body.action !== 'stage') throw new Refusal('internal_error');
    return await beginRegistration(market, body, clientNetwork);
  },

  confirm: async (market, { session, csrf, handle, key, clientNetwork }) => {
    const body = { action: 'confirm' as const, session, csrf, ...(handle === undefined ? {} : { handle }) };
    return await confirmRegistration(market, { body, bearer: key, clientNetwork });
  },
};
