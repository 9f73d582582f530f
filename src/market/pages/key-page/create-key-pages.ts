import { type AnyPageRoute, formPage, type PageAnswer, page } from '../../../platform/http/server-options.ts';
import type { Refusal } from '../../../platform/refusal.ts';
import type { Market, MarketConfig } from '../../context.ts';
import { list, text } from '../../guide/guide.ts';
import { beginRecovery, confirmRecovery } from '../../identity/recovery.ts';
import { beginRotation, confirmRotation } from '../../identity/rotate.ts';
import { answerDocument, chooseForm } from '../answer-document.ts';
import { explainRefusal, retryHeaders, statusOf } from '../refusals.ts';
import { renderTextField, SECRET_CONFIRMATION_FIELDS } from './fields.ts';
import { join } from './join.ts';
import type { KeyPage } from './key-page.ts';
import type { KeyPageContext } from './key-page-session.ts';
import { answerKeyPage, openKeyPage } from './open-key-page.ts';
import { renderMessage } from './render-key-page.ts';
import { takeForm } from './take-form.ts';

const keyOf = (form: Readonly<Record<string, string>>): string => (form['merchant_key'] ?? '').trim();

const rotate: KeyPage = {
  kind: 'rotate',
  endpoint: 'rotate',
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

const codeOf = (form: Readonly<Record<string, string>>): string => (form['recovery_code'] ?? '').trim();

const recover: KeyPage = {
  kind: 'recovery',
  endpoint: 'recovery',
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

export const KEY_PAGES: readonly KeyPage[] = [join, rotate, recover];

/** Creates the routes of the three key pages: GET shows the page, POST takes its form. */
export function createKeyPages(market: Market, { catalog }: Pick<KeyPageContext, 'catalog'>): AnyPageRoute[] {
  return KEY_PAGES.flatMap((keyPage) => {
    const { path } = keyPage;
    const context = { market, catalog, keyPages: KEY_PAGES, keyPage };
    const refused = (refusal: Refusal) => answerRefused(market, keyPage, refusal);
    return [
      page({
        method: 'GET',
        path,
        cache: 'private',
        ownOrigin: true,
        refused,
        // Browsers get HTML, programs JSON or text.
        handler: async (call) =>
          chooseForm(call.accept) === 'html'
            ? withVary(await openKeyPage(context, call.cookies))
            : describeRoutes(market.config, keyPage, call.accept),
      }),
      formPage({
        method: 'POST',
        path,
        ownOrigin: true,
        secretFields: [...keyPage.secretFields, ...SECRET_CONFIRMATION_FIELDS],
        refused,
        handler: (call) => takeForm(context, call),
      }),
    ];
  });
}

function withVary(answer: PageAnswer): PageAnswer {
  return { ...answer, headers: { ...answer.headers, vary: 'accept' } };
}

/** Answers refusals that no step handles. After a server error the step may have succeeded, so the answer links to the page. */
function answerRefused({ random }: Pick<Market, 'random'>, { path, words }: KeyPage, refusal: Refusal): PageAnswer {
  const isFailure = refusal.row.status >= 500;
  const title = isFailure ? 'No answer just now' : 'Not done';
  return answerKeyPage(random, {
    ...{ path, title },
    status: statusOf(refusal),
    headers: retryHeaders(refusal),
    main: renderMessage({
      title,
      text: isFailure ? 'The market could not read or write what it needs.' : explainRefusal(refusal).message,
      link: {
        before: isFailure ? 'Wait a little, then see how things stand at ' : 'Nothing was changed. Begin again at ',
        ...{ address: path, name: words.title, after: '.' },
      },
    }),
  });
}

/** API endpoints for programs, because the pages are for people with a browser. */
const ROUTES: Readonly<Record<KeyPage['path'], string>> = {
  '/join': '/api/register',
  '/rotate': '/api/rotate',
  '/recovery': '/api/recovery',
};

/** Tells a program what a key page is for and which endpoint to use instead. Starts nothing. */
function describeRoutes(
  config: MarketConfig,
  { path, endpoint, words }: KeyPage,
  accept: string | undefined,
): PageAnswer {
  const isOpen = config.openIdentityEndpoints.has(endpoint);
  const route = ROUTES[path];
  return answerDocument(accept, {
    path,
    document: {
      title: words.title,
      summary: words.lead,
      blocks: [
        text(isOpen ? 'This door is open.' : 'This door is closed for now.'),
        list([
          `For a person, in a browser: [${config.baseUrl}${path}](${path}).`,
          `For a program, in two steps: \`POST ${route}\`, as [/openapi.json](/openapi.json) says. Key and codes are shown once.`,
        ]),
      ],
    },
    json: {
      title: words.title,
      summary: words.lead,
      open: isOpen,
      page: `${config.baseUrl}${path}`,
      route: `POST ${route}`,
    },
  });
}
