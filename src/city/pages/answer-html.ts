import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { html } from 'ghtml';
import { sha256 } from '../../platform/canonical-json.ts';
import { isoTime } from '../../platform/clock.ts';
import { createAsset } from '../../platform/http/assets.ts';
import { preferredType } from '../../platform/http/caller-headers.ts';
import type { PageAnswer } from '../../platform/http/server-options.ts';
import type { Refusal } from '../../platform/refusal.ts';
import type { City } from '../context.ts';
import type { TileRow } from '../things/store.ts';

/** Helpers shared by several pages. `${}` escapes residents' texts; `!${}` inserts HTML unchanged. */

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

/** Renders a list of facts. Values are HTML. */
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

/** These pages run no script. Other answers need no policy, because they are sent with nosniff. */
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
  main: string;
  /** URL of the same record as JSON. */
  json?: string;
}

export function answerHtml(city: Pick<City, 'config'>, page: HtmlPage, status = 200): PageAnswer {
  return {
    status,
    headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY },
    body: renderPage(city, page),
  };
}

export function answerRefused(city: Pick<City, 'config'>, refusal: Refusal): PageAnswer {
  const { row, options } = refusal;
  const main = html`<h1>${row.title}</h1>
<p class="summary">${refusal.message}</p>
<p>${options.nextStep ?? row.next_step} <a href="/">To the beginning</a></p>`;
  return answerHtml(city, { title: row.title, main }, row.status);
}

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

/** Answers HTML to browsers, which name it in `accept`, and JSON to programs, which accept anything. */
export function answerHtmlOrJson(
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

/** Draws a thing's picture, which never changes: two rings, each of one repeated shape, around a centre, in two colours. */
export function drawEmblem(thing: { id: bigint; name: string }): string {
  const [a = 0, b = 0, second = 0, count = 0, outer = 0, inner = 0, width = 0, reach = 0, ring = 0, heart = 0] = sha256(
    `${thing.id}\n${thing.name}`,
  );
  const hue = (a * 256 + b) % 360;
  const other = (hue + pickByHash(HUE_TURNS, second)) % 360;
  const rays = 5 + (count % 5);
  const step = 360 / rays;
  const broad = Math.round((190 + (width % 90)) / rays);
  const middle = 46 + (reach % 16);
  const drawOuter = pickByHash(SHAPES, outer);
  const drawInner = pickByHash(SHAPES, inner);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="400" height="400" viewBox="0 0 200 200">`,
    `<rect width="200" height="200" fill="hsl(${hue},34%,93%)"/>`,
    ring % 2 === 0 ? `<circle cx="100" cy="100" r="88" fill="hsl(${other},46%,87%)"/>` : '',
    repeatAround(rays, 0, `hsl(${hue},44%,38%)`, drawOuter({ from: 30, to: 82, width: broad })),
    repeatAround(
      rays,
      step / 2,
      `hsl(${other},58%,56%)`,
      drawInner({ from: 20, to: middle, width: Math.round(broad * 0.7) }),
    ),
    `<circle cx="100" cy="100" r="${14 + (heart % 8)}" fill="hsl(${hue},40%,24%)"/>`,
    `<circle cx="100" cy="100" r="${5 + (heart % 5)}" fill="hsl(${other},60%,74%)"/>`,
    '</svg>',
  ].join('');
}

/** Hue distance of the second colour, in degrees. */
const HUE_TURNS: readonly number[] = [28, 60, 150, 180, 215];

interface Ray {
  from: number;
  to: number;
  width: number;
}

/** Draws one ray of a ring, pointing up. */
const SHAPES: readonly ((ray: Ray) => string)[] = [
  ({ from, to, width }) =>
    `<ellipse cx="100" cy="${100 - (from + to) / 2}" rx="${width / 2}" ry="${(to - from) / 2}"/>`,
  ({ from, to, width }) =>
    `<path d="M100 ${100 - from}Q${100 + width} ${100 - (from + to) / 2} 100 ${100 - to}Q${100 - width} ${100 - (from + to) / 2} 100 ${100 - from}Z"/>`,
  ({ from, to, width }) =>
    `<path d="M100 ${100 - from}L${100 + width / 2} ${100 - (from + to) / 2}L100 ${100 - to}L${100 - width / 2} ${100 - (from + to) / 2}Z"/>`,
  ({ to, width }) => `<circle cx="100" cy="${100 - to + width / 2}" r="${width / 2}"/>`,
  ({ from, to, width }) =>
    `<rect x="${100 - width / 4}" y="${100 - to}" width="${width / 2}" height="${to - from}" rx="${width / 4}"/>`,
];

function repeatAround(count: number, startDegrees: number, fill: string, shape: string): string {
  const turned = Array.from({ length: count }, (_, index) => {
    const degrees = Math.round(startDegrees + (index * 360) / count);
    return `<g transform="rotate(${degrees} 100 100)">${shape}</g>`;
  });
  return `<g fill="${fill}">${turned.join('')}</g>`;
}

function pickByHash<T>(from: readonly T[], by: number): T {
  const item = from[by % from.length];
  if (item === undefined) throw new Error('there is nothing to pick from');
  return item;
}

/** Read once at start. No fonts are sent, so system fonts replace those of the market. */
const STYLE = createAsset(
  'city',
  'css',
  'text/css; charset=utf-8',
  readFileSync(fileURLToPath(new URL('./files/city.css', import.meta.url))),
);
/** Icon of the city, drawn like the picture of a thing. */
export const ICON = createAsset(
  'icon',
  'svg',
  'image/svg+xml',
  Buffer.from(drawEmblem({ id: 0n, name: 'Openaisle city' })),
);

export const ASSETS = [STYLE, ICON];
