import { html } from 'ghtml';
import { AISLE_WORDS } from '../../../contract/vocabulary.ts';
import { storePath } from '../storefront/render-rows.ts';
import { capitalize, cleanText, renderLine, showCount, showNumber } from '../storefront/render-text.ts';
import type { FeeSums, SalesOfAisle } from './store.ts';
import { drawTimeBars, nameSpan, shareOf, showUnits, spreadOverTime, toPercent } from './time-bars.ts';

export const TOP_MERCHANTS = 10;

export function renderFeesOverTime({ days, fees, units }: FeeSums, nowMs: number): string {
  if (fees === 0n) return renderSection('time', 'Fees over time', html`<p class="quiet">No fee has been paid yet.</p>`);
  const { span, bars } = spreadOverTime(days, nowMs);
  const rows = bars
    .toReversed()
    .map(({ from, fees: paid, units: sum }) => [nameSpan(span, from), showNumber(Number(paid)), showUnits(sum)]);
  return renderSection(
    'time',
    'Fees over time',
    html`<p>${showCount(Number(fees), 'fee')} so far, <strong>${showUnits(units)}</strong>, by the time of the block that each was paid in (UTC). The last ${span} is not over yet.</p>
!${drawTimeBars('time-chart', span, bars)}
!${renderFigures(`Each ${span} as a table`, [capitalize(span), 'Fees', 'Paid'], rows)}`,
  );
}

export function renderFeesByMerchant({ top, merchants, fees, units }: FeeSums): string {
  if (top.length === 0)
    return renderSection('payers', 'Fees by merchant', html`<p class="quiet">No merchant has paid a fee yet.</p>`);
  const others = Number(merchants) - top.length;
  const rest = {
    fees: fees - top.reduce((sum, one) => sum + one.fees, 0n),
    units: units - top.reduce((sum, one) => sum + one.units, 0n),
  };
  const ranked = top.map(({ merchant, units: paid }) => ({ name: merchant, units: paid }));
  const rows = top.map(({ merchant, fees: count, units: paid }) => [
    html`<a href="${storePath(merchant)}">!${renderLine(merchant)}</a>`,
    showNumber(Number(count)),
    showUnits(paid),
  ]);
  const all = others > 0 ? { name: showCount(others, 'other merchant'), ...rest, isRest: true } : null;
  return renderSection(
    'payers',
    'Fees by merchant',
    html`<p>${showCount(Number(merchants), 'merchant has', 'merchants have')} paid a fee.${others > 0 ? ` The ${top.length} who paid most, and the rest together.` : ''}</p>
!${drawRanking(
      'payers-chart',
      {
        title: 'Fees paid, by merchant',
        desc: `Most were paid by ${cleanText(top[0]?.merchant ?? '')}: ${showUnits(top[0]?.units ?? 0n)}. The table below has each.`,
      },
      all === null ? ranked : [...ranked, all],
    )}
!${renderFigures(
      'Each merchant as a table',
      ['Merchant', 'Fees', 'Paid'],
      all === null ? rows : [...rows, [all.name, showNumber(Number(all.fees)), showUnits(all.units)]],
    )}`,
  );
}

/** Renders what buyers paid to sellers, which never goes through the treasury. */
export function renderSales(sales: readonly SalesOfAisle[]): string {
  const sold = sales.toSorted((one, other) => Number(other.units - one.units) || Number(other.paid - one.paid));
  const says = html`<p>Paid from wallet to wallet, straight to the sellers; nothing of it goes through the treasury. Only sales whose payment is final are counted, in the aisle where the goods lie now.</p>`;
  if (sold.length === 0)
    return renderSection(
      'sales',
      'Sales by aisle',
      html`!${says}
<p class="quiet">Nothing has been sold yet.</p>`,
    );
  const total = sold.reduce((sum, { units }) => sum + units, 0n);
  const paid = sold.reduce((sum, one) => sum + one.paid, 0n);
  const free = sold.reduce((sum, one) => sum + one.free, 0n);
  const rows = sold.map((one) => [
    html`<a href="/shelves/${one.aisle}">${AISLE_WORDS[one.aisle].name}</a>`,
    showNumber(Number(one.paid)),
    showUnits(one.units),
    showNumber(Number(one.free)),
  ]);
  return renderSection(
    'sales',
    'Sales by aisle',
    html`!${says}
<p><strong>${showCount(Number(paid), 'sale')}</strong> for <strong>${showUnits(total)}</strong>!${free === 0n ? '' : html`, and ${showNumber(Number(free))} handed over free`}.</p>
!${drawRanking(
      'sales-chart',
      {
        title: 'What buyers paid, by aisle',
        desc: `${AISLE_WORDS[sold[0]?.aisle ?? 'other'].name} comes first with ${showUnits(sold[0]?.units ?? 0n)}. The table below has each aisle.`,
      },
      sold.map(({ aisle, units }) => ({ name: AISLE_WORDS[aisle].name, units })),
    )}
!${renderFigures(
      'Each aisle as a table',
      ['Aisle', 'Sales', 'Paid', 'Free'],
      [...rows, ['All', showNumber(Number(paid)), showUnits(total), showNumber(Number(free))]],
    )}`,
  );
}

function renderSection(id: string, name: string, inside: string): string {
  return html`<section aria-labelledby="${id}">
<h2 id="${id}">${name}</h2>
!${inside}
</section>`;
}

/** Renders a chart's numbers as a table. The first cell of a row is its heading. Cells are HTML. */
function renderFigures(caption: string, heads: readonly string[], rows: readonly (readonly string[])[]): string {
  return html`<details class="figures">
<summary>${caption}</summary>
<table>
<caption class="heard">${caption}</caption>
<thead><tr>!${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>
!${rows.map(renderRow)}</tbody>
</table>
</details>`;
}

function renderRow([name = '', ...cells]: readonly string[]): string {
  return html`<tr><th scope="row">!${name}</th>!${cells.map((cell) => html`<td>!${cell}</td>`)}</tr>
`;
}

interface Ranked {
  name: string;
  units: bigint;
  /** Whether this bar is the sum of all entries that have no bar of their own. */
  isRest?: boolean;
}

const ROW = 44;
const LABEL = 16;
const BAR = 26;
const THICKNESS = 8;
/** Pixels by which the zero line overhangs the bar. */
const TICK = 2;
const LONGEST_NAME = 28;

function drawRanking(id: string, names: { title: string; desc: string }, rows: readonly Ranked[]): string {
  const most = rows.reduce((largest, { units }) => (units > largest ? units : largest), 0n);
  return html`<svg class="chart" role="img" aria-labelledby="${id}-name ${id}-says" width="100%" height="${rows.length * ROW}">
<title id="${id}-name">${names.title}</title>
<desc id="${id}-says">${names.desc}</desc>
!${rows.map((row, at) => drawRow(row, at * ROW, most))}</svg>`;
}

function drawRow({ name, units, isRest = false }: Ranked, top: number, most: bigint): string {
  const letters = [...cleanText(name)];
  const short = letters.length <= LONGEST_NAME ? letters.join('') : `${letters.slice(0, LONGEST_NAME - 1).join('')}…`;
  return html`<text class="direct" x="0" y="${top + LABEL}">${short}</text>
<text class="direct end" x="100%" y="${top + LABEL}">${showUnits(units)}</text>
<rect class="bar${isRest ? ' rest' : ''}" x="0" width="${toPercent(100 * shareOf(units, most))}" y="${top + BAR}" height="${THICKNESS}"/>
<line class="base" x1="0" x2="0" y1="${top + BAR - TICK}" y2="${top + BAR + THICKNESS + TICK}"/>
`;
}
