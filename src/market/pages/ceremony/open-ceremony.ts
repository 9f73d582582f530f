import { html } from 'ghtml';
import type { PageAnswer, PageCall } from '../../../platform/http/server-options.ts';
import type { Market } from '../../context.ts';
import { answerHtml, type CeremonyPage } from './answer-html.ts';
import type { Ceremony, Fault, Form } from './ceremony.ts';
import { findStanding, type Standing } from './find-standing.ts';
import { type FormToken, formToken } from './form-token.ts';
import { renderAgain } from './render-again.ts';
import { renderElsewhere, renderMessage } from './render-end.ts';
import { type Notice, noticeOfOver, renderFaults, renderHidden, renderNotice } from './render-parts.ts';

export interface OpeningParts {
  ceremonies: readonly Ceremony[];
}

/** GET: whatever this browser has begun, or the first step. Changes nothing. */
export async function openCeremony(
  market: Market,
  parts: OpeningParts,
  ceremony: Ceremony,
  { cookies }: Pick<PageCall, 'cookies'>,
): Promise<PageAnswer> {
  if (!market.config.openDoors.has(ceremony.door)) return answerClosed(market, ceremony);
  const token = formToken(market.random, ceremony.path, cookies);
  const standing = await findStanding(market, cookies);
  const begun = answerBegun(market, parts, ceremony, { cookies, standing, status: 200 });
  if (begun !== null) return begun;
  const isOwnEnd = standing.is !== 'none' && standing.is !== 'open' && standing.of.kind === ceremony.kind;
  return answerBegin(market, ceremony, { token, notice: isOwnEnd ? noticeOfOver(standing, ceremony) : null });
}

/** What stands open in this browser, here or at another door; null: nothing. */
export function answerBegun(
  market: Market,
  { ceremonies }: OpeningParts,
  ceremony: Ceremony,
  { cookies, standing, status }: { cookies: PageCall['cookies']; standing: Standing; status: number },
): PageAnswer | null {
  if (standing.is !== 'open') return null;
  const begun = ceremonies.find(({ kind }) => kind === standing.of.kind) ?? ceremony;
  const { value, cookie } = formToken(market.random, begun.path, cookies);
  if (begun === ceremony) {
    const main = renderAgain(ceremony, { token: value, standing });
    return answerHtml(market.random, { title: 'Shown already', main, path: ceremony.path, status, cookie });
  }
  const main = renderElsewhere(begun, standing, value);
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
      text: 'Whoever runs this market has closed this door for now. Nothing was changed.',
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
