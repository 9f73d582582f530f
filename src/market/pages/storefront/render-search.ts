import { html } from 'ghtml';
import { ATTRIBUTE_NAMES, ATTRIBUTES } from '../../../contract/listing-fields.ts';
import { AISLE_WORDS, AISLES, type Aisle, SORT_NAMES } from '../../../contract/vocabulary.ts';
import { type ShelfAddress, shelfPath } from './shelf-address.ts';
import { showNumber } from './show-facts.ts';

const SORT_WORDS: readonly (readonly [value: string, name: string])[] = [
  ['', 'Newest, or best match'],
  ...Object.entries(SORT_NAMES),
];
const FREE_WORDS: readonly [value: string, name: string][] = [
  ['', 'Free or not'],
  ['true', 'Free'],
  ['false', 'Not free'],
];

/** Words, and everything else by which shelves can be narrowed. */
export function renderSearch(address: ShelfAddress): string {
  const { q, sort, aisle, free, price, tag } = address;
  const isNarrowed = sort !== '' || free !== '' || price !== '' || ATTRIBUTE_NAMES.some((name) => address[name] !== '');
  return html`<form class="search" role="search" action="/shelves" method="get">
!${renderWords(q)}
<details!${isNarrowed ? ' open' : ''}>
<summary>Sort and narrow</summary>
<div class="narrow">
!${renderSelect('aisle', 'Aisle', aisle ?? '', [['', 'All aisles'], ...AISLES.map((one): [string, string] => [one, AISLE_WORDS[one].name])])}
!${renderSelect('sort', 'Order', sort, SORT_WORDS)}
!${renderSelect('free', 'Price', free, FREE_WORDS)}
<label>At most, in USDC <input type="text" name="price" value="${price}" inputmode="decimal" autocomplete="off" placeholder="10.00"></label>
!${ATTRIBUTE_NAMES.map((name) => html`<label>${ATTRIBUTES[name].label} <input type="text" name="${name}" value="${address[name]}" maxlength="${String(ATTRIBUTES[name].text.maxLength)}" autocomplete="off" placeholder="${ATTRIBUTES[name].example}"></label>`)}
</div>
</details>
!${tag === '' ? '' : html`<input type="hidden" name="tag" value="${tag}">`}
</form>`;
}

/** The field alone, where there is nothing to narrow yet. */
export function renderShortSearch(): string {
  return html`<form class="search" role="search" action="/shelves" method="get">
!${renderWords('')}
</form>`;
}

function renderWords(q: string): string {
  return html`<div class="words"><label for="q" class="heard">Search the shelves</label><input type="search" id="q" name="q" value="${q}" maxlength="100" placeholder="Words, or &quot;a phrase&quot;" autocomplete="off" autocapitalize="none" spellcheck="false"><button class="main" type="submit">Search</button></div>`;
}

function renderSelect(
  name: string,
  label: string,
  chosen: string,
  options: readonly (readonly [value: string, name: string])[],
): string {
  return html`<label>${label} <select name="${name}">!${options.map(([value, text]) => html`<option value="${value}"!${value === chosen ? ' selected' : ''}>${text}</option>`)}</select></label>`;
}

/** All aisles with what lies on them; what was searched for goes along. */
export function renderAisles(
  aisles: readonly { name: Aisle; count: number }[],
  address: ShelfAddress | null,
  all: number | null = null,
): string {
  const here = address?.aisle ?? null;
  const line = (aisle: Aisle | null, name: string, count: number): string => {
    const isHere = address !== null && aisle === here;
    return html`<li><a href="${shelfPath({ aisle })}"!${isHere ? ' aria-current="page"' : ''} class="of ${aisle ?? 'all'}">${name} <span class="count">${showNumber(count)}</span></a></li>`;
  };
  return html`<nav class="aisles" aria-label="Aisles"><ul>!${all === null ? '' : line(null, 'All', all)}!${aisles.map(({ name, count }) => line(name, AISLE_WORDS[name].name, count))}</ul></nav>`;
}
