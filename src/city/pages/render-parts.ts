import { html } from 'ghtml';
import { isoTime } from '../../platform/clock.ts';

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

export interface Tile {
  id: bigint;
  name: string;
  owner: string;
  locked: boolean;
}

export function renderTiles(things: readonly Tile[]): string {
  const tiles = things.map(
    ({ id, name, owner, locked }) =>
      html`<li><a href="/thing/${id}"><img src="/thing/${id}/picture.svg" width="400" height="400" alt="" loading="lazy">${name}</a><span class="quiet">${owner}${locked ? ', under offer' : ''}</span></li>`,
  );
  return html`<ul class="tiles">!${tiles}</ul>`;
}
