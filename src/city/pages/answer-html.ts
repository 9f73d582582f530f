import { html } from 'ghtml';
import type { PageAnswer } from '../../platform/http/server-options.ts';
import type { Refusal } from '../../platform/refusal.ts';
import type { City } from '../context.ts';
import { ICON, STYLE } from './assets.ts';

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
