import { html } from 'ghtml';
import { seen } from '../storefront/render-written.ts';
import { part, percent } from './draw-time-bars.ts';
import { showUnits } from './show-money.ts';

export interface Ranked {
  name: string;
  units: bigint;
  /** Stands for what is not shown one by one. */
  isRest?: boolean;
}

const ROW = 44;
const LABEL = 16;
const BAR = 26;
const THICKNESS = 8;
/** How far the line at zero goes beyond the bar. */
const TICK = 2;
const LONGEST_NAME = 28;

/** One bar for each, from zero; name and amount stand over it. */
export function drawRanking(id: string, names: { title: string; desc: string }, rows: readonly Ranked[]): string {
  const most = rows.reduce((found, { units }) => (units > found ? units : found), 0n);
  return html`<svg class="chart" role="img" aria-labelledby="${id}-name ${id}-says" width="100%" height="${rows.length * ROW}">
<title id="${id}-name">${names.title}</title>
<desc id="${id}-says">${names.desc}</desc>
!${rows.map((row, at) => drawRow(row, at * ROW, most))}</svg>`;
}

function drawRow({ name, units, isRest = false }: Ranked, top: number, most: bigint): string {
  const letters = [...seen(name)];
  const short = letters.length <= LONGEST_NAME ? letters.join('') : `${letters.slice(0, LONGEST_NAME - 1).join('')}…`;
  return html`<text class="direct" x="0" y="${top + LABEL}">${short}</text>
<text class="direct end" x="100%" y="${top + LABEL}">${showUnits(units)}</text>
<rect class="bar${isRest ? ' rest' : ''}" x="0" width="${percent(100 * part(units, most))}" y="${top + BAR}" height="${THICKNESS}"/>
<line class="base" x1="0" x2="0" y1="${top + BAR - TICK}" y2="${top + BAR + THICKNESS + TICK}"/>
`;
}
