import { html } from 'ghtml';
import { drawable, fitText, shorten, widthOf } from './fit-text.ts';
import { hexOfOklch } from './oklch.ts';
import { FAMILY, type Face, type Faces, type Weight } from './picture-fonts.ts';
import type { CardQuestion } from './picture-question.ts';
import { CARD } from './picture-size.ts';

const MARK_LEFT = 772;
const LEFT = 64;
const ROOM = MARK_LEFT - LEFT - 52;
const TITLE_TOP = 148;
const TITLE_ROOMS = [
  { size: 68, lines: 3 },
  { size: 58, lines: 3 },
  { size: 50, lines: 4 },
] as const;
const TITLE_LEADING = 1.16;
const TEXT = { size: 30, leading: 42, lines: 2 } as const;
const PRICE = { size: 46, baseline: 512 } as const;
const FOOT = { size: 28, baseline: 566 } as const;
const NAME = { size: 30, baseline: 96 } as const;

const PAPER = hexOfOklch(0.985, 0.004, 110);
const INK = hexOfOklch(0.23, 0.015, 160);
const MUTED = hexOfOklch(0.46, 0.016, 160);
const ACCENT = hexOfOklch(0.42, 0.09, 157);

/** The picture by which a link shows a page before it is opened. */
export function composeCard(card: CardQuestion, faces: Faces): string {
  const { colours, price } = card;
  const title = drawable(card.title, faces[700]) ?? card.otherwise;
  const fitted = fitText(title, { width: ROOM, rooms: TITLE_ROOMS }, faces[700]);
  const titleEnd = TITLE_TOP + fitted.lines.length * fitted.size * TITLE_LEADING;
  return html`<svg xmlns="http://www.w3.org/2000/svg" width="${CARD.width}" height="${CARD.height}">
<style>.mark path { fill: none; stroke-width: 1.72; } .w { stroke: ${colours.w}; } .a { stroke: ${colours.a}; } .b { stroke: ${colours.b}; }</style>
<rect width="100%" height="100%" fill="${PAPER}"/>
<rect x="${MARK_LEFT}" width="${CARD.width - MARK_LEFT}" height="100%" fill="${colours.ground}"/>
!${placeMark(card.mark)}
!${drawLine('Openaisle', { baseline: NAME.baseline, size: NAME.size, weight: 700, fill: ACCENT })}
!${fitted.lines.map((text, at) => drawLine(text, { baseline: TITLE_TOP + (at + 0.84) * fitted.size * TITLE_LEADING, size: fitted.size, weight: 700, fill: INK }))}
!${composeText(card.text, faces[400]).map((text, at) => drawLine(text, { baseline: titleEnd + 24 + (at + 0.7) * TEXT.leading, size: TEXT.size, weight: 400, fill: MUTED }))}
!${price === '' ? '' : drawLine(price, { ...PRICE, weight: 700, fill: INK })}
!${drawLine(composeFoot(card.from, faces[400]), { ...FOOT, weight: 400, fill: MUTED })}
</svg>`;
}

/** Over the whole height; what sticks out above and below the square is woven on, and sideways it is cut. */
function placeMark(mark: string): string {
  return mark.replace(
    '<svg ',
    `<svg x="${MARK_LEFT}" y="0" width="${CARD.width - MARK_LEFT}" height="${CARD.height}" preserveAspectRatio="xMidYMid slice" `,
  );
}

function composeText(text: string, face: Face): string[] {
  const shown = text === '' ? null : drawable(text, face);
  return shown === null ? [] : fitText(shown, { width: ROOM, rooms: [TEXT] }, face).lines;
}

/** The name gives way; what stands behind it is ours, and short. */
function composeFoot({ merchant, rest }: CardQuestion['from'], face: Face): string {
  const name = merchant === '' ? null : drawable(merchant, face);
  if (name === null) return rest;
  const behind = ` · ${rest}`;
  const room = ROOM - widthOf(`by ${behind}`, FOOT.size, face);
  return `by ${shorten(name, FOOT.size, room, face, false)}${behind}`;
}

interface LineStyle {
  baseline: number;
  size: number;
  weight: Weight;
  fill: string;
}

function drawLine(text: string, { baseline, size, weight, fill }: LineStyle): string {
  return html`<text x="${LEFT}" y="${Math.round(baseline)}" font-family="${FAMILY}" font-weight="${weight}" font-size="${size}" fill="${fill}">${text}</text>
`;
}
