import { html } from 'ghtml';
import type { PageAnswer, PageCall } from '../../../platform/http/server-options.ts';
import type { Random } from '../../../platform/random.ts';
import type { Market } from '../../context.ts';
import { SHELL } from '../shell/assets.ts';
import { noncePolicy, renderShell } from '../shell/render-shell.ts';
import type { Ceremony, Fault, Form } from './ceremony.ts';
import {
  type Notice,
  noticeOfOver,
  renderAgain,
  renderElsewhere,
  renderFaults,
  renderHidden,
  renderMessage,
  renderNotice,
} from './render-stage.ts';
import { type FormToken, findStageStatus, formToken, type StageStatus } from './stage-session.ts';

export interface OpeningDependencies {
  ceremonies: readonly Ceremony[];
}

/** GET: whatever this browser has begun, or the first step. Changes nothing. */
export async function openCeremony(
  market: Market,
  dependencies: OpeningDependencies,
  ceremony: Ceremony,
  { cookies }: Pick<PageCall, 'cookies'>,
): Promise<PageAnswer> {
  if (!market.config.openIdentityEndpoints.has(ceremony.door)) return answerClosed(market, ceremony);
  const token = formToken(market.random, ceremony.path, cookies);
  const stageStatus = await findStageStatus(market, cookies);
  const begun = answerBegun(market, dependencies, ceremony, { cookies, stageStatus, status: 200 });
  if (begun !== null) return begun;
  const isOwnEnd = stageStatus.is !== 'none' && stageStatus.is !== 'open' && stageStatus.of.kind === ceremony.kind;
  return answerBegin(market, ceremony, { token, notice: isOwnEnd ? noticeOfOver(stageStatus, ceremony) : null });
}

/** What stands open in this browser, here or at another door; null: nothing. */
export function answerBegun(
  market: Market,
  { ceremonies }: OpeningDependencies,
  ceremony: Ceremony,
  { cookies, stageStatus, status }: { cookies: PageCall['cookies']; stageStatus: StageStatus; status: number },
): PageAnswer | null {
  if (stageStatus.is !== 'open') return null;
  const begun = ceremonies.find(({ kind }) => kind === stageStatus.of.kind) ?? ceremony;
  const { value, cookie } = formToken(market.random, begun.path, cookies);
  if (begun === ceremony) {
    const main = renderAgain(ceremony, { token: value, stageStatus });
    return answerHtml(market.random, { title: 'Shown already', main, path: ceremony.path, status, cookie });
  }
  const main = renderElsewhere(begun, stageStatus, value);
  return answerHtml(market.random, { title: 'Something else is begun', main, path: ceremony.path, status, cookie });
}

export interface BeginAnswer extends Omit<BeginPage, 'token'>, Pick<CeremonyPage, 'status' | 'headers' | 'cookie'> {
  token: FormToken;
}

export function answerBegin(
  { random }: Pick<Market, 'random'>,
  ceremony: Ceremony,
  { token, status = 200, headers = {}, cookie = token.cookie, ...begin }: BeginAnswer,
): PageAnswer {
  const { path, words } = ceremony;
  const isFaulty = (begin.faults ?? []).length > 0;
  const main = renderBegin(ceremony, { ...begin, token: token.value });
  return answerHtml(random, {
    title: isFaulty ? `Not done: ${words.title}` : words.title,
    ...{ main, path, status, headers, cookie },
  });
}

export function answerClosed({ random }: Pick<Market, 'random'>, { path, words }: Ceremony): PageAnswer {
  return answerHtml(random, {
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

/** The first step: what it is for, what to have ready, and the form. */
function renderBegin(ceremony: Ceremony, { token, typed = {}, faults = [], notice = null }: BeginPage): string {
  const { path, words } = ceremony;
  return html`!${renderFaults(faults)}
!${renderNotice(notice)}
<h1>${words.title}</h1>
<p class="summary">${words.lead}</p>
<ul>!${words.before.map((line) => html`<li>${line}</li>`)}</ul>
<form method="post" action="${path}" novalidate autocomplete="off" data-begin>
!${renderHidden({ action: 'begin', token })}
!${ceremony.renderFields(typed, faults)}
<div class="row"><button class="main" type="submit">${words.beginButton}</button></div>
</form>`;
}

interface CeremonyPage {
  title: string;
  /** HTML. */
  main: string;
  path: string;
  status?: number;
  headers?: Readonly<Record<string, string>>;
  /** One Set-Cookie; no answer needs two. */
  cookie?: string | null;
}

/** A page of a ceremony: it is not cached, and runs the two scripts of this answer and nothing else. */
export function answerHtml(random: Random, page: CeremonyPage): PageAnswer {
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
    body: renderShell({ title: `${title} - Openaisle`, main, path, nonce, scripts: [SHELL.ceremony.path] }),
  };
}
