import { html } from 'ghtml';
import type { PageAnswer, PageCall } from '../../../platform/http/server-options.ts';
import type { Random } from '../../../platform/random.ts';
import type { Market } from '../../context.ts';
import { SHELL } from '../shell/assets.ts';
import { noncePolicy, renderShell } from '../shell/render-shell.ts';
import type { Fault, Form, KeyPage } from './key-page.ts';
import {
  type FormToken,
  findPendingStatus,
  formToken,
  type KeyPageContext,
  type PendingStatus,
} from './key-page-session.ts';
import {
  type Notice,
  noticeOfEnd,
  renderConfirmAgain,
  renderFaults,
  renderHiddenFields,
  renderMessage,
  renderNotice,
  renderOtherChange,
} from './render-key-page.ts';

/** GET. Shows this browser's pending change, or the first step. Changes nothing. */
export async function openKeyPage(context: KeyPageContext, cookies: PageCall['cookies']): Promise<PageAnswer> {
  const { market, keyPage } = context;
  if (!market.config.openIdentityEndpoints.has(keyPage.endpoint)) return answerClosed(market, keyPage);
  const token = formToken(market.random, keyPage.path, cookies);
  const pending = await findPendingStatus(market, cookies);
  const begun = answerOpenChange(context, { cookies, pending, status: 200 });
  if (begun !== null) return begun;
  const isOwnEnd = pending.is !== 'none' && pending.is !== 'open' && pending.change.kind === keyPage.kind;
  return answerBegin(market, keyPage, { token, notice: isOwnEnd ? noticeOfEnd(pending, keyPage) : null });
}

/** Answers with this browser's open change, begun on this key page or another. Null if there is none. */
export function answerOpenChange(
  { market, keyPages, keyPage }: KeyPageContext,
  { cookies, pending, status }: { cookies: PageCall['cookies']; pending: PendingStatus; status: number },
): PageAnswer | null {
  if (pending.is !== 'open') return null;
  const begun = keyPages.find(({ kind }) => kind === pending.change.kind) ?? keyPage;
  const { value, cookie } = formToken(market.random, begun.path, cookies);
  if (begun === keyPage) {
    const main = renderConfirmAgain(keyPage, { token: value, pending });
    return answerKeyPage(market.random, { title: 'Shown already', main, path: keyPage.path, status, cookie });
  }
  const main = renderOtherChange(begun, pending, value);
  return answerKeyPage(market.random, { title: 'Something else is begun', main, path: keyPage.path, status, cookie });
}

export interface BeginAnswer extends Omit<BeginPage, 'token'>, Pick<PageContent, 'status' | 'headers' | 'cookie'> {
  token: FormToken;
}

export function answerBegin(
  { random }: Pick<Market, 'random'>,
  keyPage: KeyPage,
  { token, status = 200, headers = {}, cookie = token.cookie, ...begin }: BeginAnswer,
): PageAnswer {
  const { path, words } = keyPage;
  const isFaulty = (begin.faults ?? []).length > 0;
  const main = renderBegin(keyPage, { ...begin, token: token.value });
  return answerKeyPage(random, {
    title: isFaulty ? `Not done: ${words.title}` : words.title,
    ...{ main, path, status, headers, cookie },
  });
}

export function answerClosed({ random }: Pick<Market, 'random'>, { path, words }: KeyPage): PageAnswer {
  return answerKeyPage(random, {
    title: `Closed: ${words.title}`,
    status: 503,
    path,
    main: renderMessage({
      title: `${words.title}: closed`,
      text: 'The operator of this market has closed this door for now. Nothing was changed.',
      link: { before: 'Which doors are open is in the ', address: '/api/official', name: 'official facts', after: '.' },
    }),
  });
}

interface BeginPage {
  token: string;
  typed?: Form;
  faults?: readonly Fault[];
  notice?: Notice | null;
}

function renderBegin(keyPage: KeyPage, { token, typed = {}, faults = [], notice = null }: BeginPage): string {
  const { path, words } = keyPage;
  return html`!${renderFaults(faults)}
!${renderNotice(notice)}
<h1>${words.title}</h1>
<p class="summary">${words.lead}</p>
<ul>!${words.before.map((line) => html`<li>${line}</li>`)}</ul>
<form method="post" action="${path}" novalidate autocomplete="off" data-begin>
!${renderHiddenFields({ action: 'begin', token })}
!${keyPage.renderFields(typed, faults)}
<div class="row"><button class="main" type="submit">${words.beginButton}</button></div>
</form>`;
}

interface PageContent {
  title: string;
  /** HTML inside the main element. */
  main: string;
  path: string;
  status?: number;
  headers?: Readonly<Record<string, string>>;
  /** Set-Cookie value; no answer needs two. */
  cookie?: string | null;
}

/** Answers with a key page. A fresh nonce lets only its own scripts run, and its routes forbid caching. */
export function answerKeyPage(random: Random, page: PageContent): PageAnswer {
  const { title, main, path, status = 200, headers = {}, cookie = null } = page;
  const nonce = random.bytes(18).toString('base64url');
  return {
    status,
    headers: {
      ...headers,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': noncePolicy(nonce),
      ...(cookie === null ? {} : { 'set-cookie': cookie }),
    },
    body: renderShell({ title: `${title} - Openaisle`, main, path, nonce, scripts: [SHELL.keyPage.path] }),
  };
}
