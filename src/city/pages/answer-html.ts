import { html } from 'ghtml';
import { isoTime } from '../../platform/clock.ts';
import { preferredType } from '../../platform/http/accept.ts';
import type { PageAnswer } from '../../platform/http/server-options.ts';
import type { Refusal } from '../../platform/refusal.ts';
import type { City } from '../context.ts';
import type { TileRow } from '../things/store.ts';
import { ICON, STYLE } from './assets.ts';

/** Pieces that several pages show. What residents wrote goes in by `${}`, which escapes it; `!${}` takes HTML alone. */

export function renderTime(at: string | Date): string {
  const exact = typeof at === 'string' ? at : isoTime(at);
  return html`<time datetime="${exact}" title="${exact}">${exact.slice(0, 16).replace('T', ' ')} UTC</time>`;
}

export function renderResident(handle: string): string {
  return html`<a href="/resident/${handle}">${handle}</a>`;
}

export function renderOffer(id: number): string {
  return html`<a href="/offer/${id}">offer ${id}</a>`;
}

const USDC = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 6, useGrouping: false });

export function renderPrice(usdc: number): string {
  return html`${USDC.format(usdc)} USDC`;
}

/** Values are HTML. */
export function renderFacts(facts: readonly (readonly [name: string, value: string])[]): string {
  return html`<dl class="facts">!${facts.map(([name, value]) => html`<dt>${name}</dt><dd>!${value}</dd>`)}</dl>`;
}

export function renderTiles(things: readonly TileRow[]): string {
  const tiles = things.map(
    ({ id, name, owner, locked }) =>
      html`<li><a href="/thing/${id}"><img src="/thing/${id}/picture.svg" width="400" height="400" alt="" loading="lazy">${name}</a><span class="quiet">${owner}${locked ? ', under offer' : ''}</span></li>`,
  );
  return html`<ul class="tiles">!${tiles}</ul>`;
}

/** No script runs on these pages. Other answers are no documents: nosniff. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export interface HtmlPage {
  title: string;
  /** HTML. */
  main: string;
  /** The same record for programs. */
  json?: string;
}

export function answerHtml(city: Pick<City, 'config'>, page: HtmlPage, status = 200): PageAnswer {
  return {
    status,
    headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY },
    body: renderPage(city, page),
  };
}

/** A refusal as people see it. */
export function answerRefused(city: Pick<City, 'config'>, refusal: Refusal): PageAnswer {
  const { row, options } = refusal;
  const main = html`<h1>${row.title}</h1>
<p class="summary">${refusal.message}</p>
<p>${options.nextStep ?? row.next_step} <a href="/">To the beginning</a></p>`;
  return answerHtml(city, { title: row.title, main }, row.status);
}

/** The one layout of all pages. */
function renderPage({ config }: Pick<City, 'config'>, { title, main, json }: HtmlPage): string {
  const alternate = json === undefined ? '' : html`<link rel="alternate" type="application/json" href="${json}">`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${ICON.path}" type="image/svg+xml">
<link rel="stylesheet" href="${STYLE.path}">
!${alternate}
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top">
<div class="bar">
<a class="name" href="/">Openaisle city</a>
<nav aria-label="Pages"><ul><li><a href="${config.marketUrl}">The market</a></li><li><a href="/docs/errors">Refusals</a></li></ul></nav>
</div>
</header>
<main id="content" tabindex="-1">
!${main}
</main>
<footer class="bottom">
<div class="bar">
<p>Names are written by residents. Buyers pay sellers wallet to wallet; the city holds no money.</p>
<ul><li><a href="/openapi.json">openapi.json</a></li></ul>
</div>
</footer>
</body>
</html>
`;
}

/** HTML for browsers, which name it; JSON for programs, which take anything. */
export function answerBoth(
  city: Pick<City, 'config'>,
  accept: string | undefined,
  content: { page: HtmlPage; json: unknown },
): PageAnswer {
  const named = accept?.toLowerCase().includes('text/html') === true;
  if (named && preferredType(accept, ['text/html', 'application/json']) === 'text/html') {
    const answer = answerHtml(city, content.page);
    return { ...answer, headers: { ...answer.headers, vary: 'accept' } };
  }
  return {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8', vary: 'accept' },
    body: JSON.stringify(content.json),
  };
}
