import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { sha256 } from '../../platform/canonical-json.ts';
import { asset } from '../../platform/http/assets.ts';

/** A thing's picture: two rings of one shape each around a middle, in two colours. The same thing has the same picture for ever. */
export function drawEmblem(thing: { id: bigint; name: string }): string {
  const [a = 0, b = 0, second = 0, count = 0, outer = 0, inner = 0, width = 0, reach = 0, ring = 0, heart = 0] = sha256(
    `${thing.id}\n${thing.name}`,
  );
  const hue = (a * 256 + b) % 360;
  const other = (hue + pick(TURNS, second)) % 360;
  const rays = 5 + (count % 5);
  const step = 360 / rays;
  const broad = Math.round((190 + (width % 90)) / rays);
  const middle = 46 + (reach % 16);
  const drawOuter = pick(SHAPES, outer);
  const drawInner = pick(SHAPES, inner);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="400" height="400" viewBox="0 0 200 200">`,
    `<rect width="200" height="200" fill="hsl(${hue},34%,93%)"/>`,
    ring % 2 === 0 ? `<circle cx="100" cy="100" r="88" fill="hsl(${other},46%,87%)"/>` : '',
    around(rays, 0, `hsl(${hue},44%,38%)`, drawOuter({ from: 30, to: 82, width: broad })),
    around(
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

/** How far the second colour is from the first. */
const TURNS: readonly number[] = [28, 60, 150, 180, 215];

interface Ray {
  /** Distances from the middle. */
  from: number;
  to: number;
  width: number;
}

/** Each as it points up. */
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

function around(count: number, startDegrees: number, fill: string, shape: string): string {
  const turned = Array.from({ length: count }, (_, index) => {
    const degrees = Math.round(startDegrees + (index * 360) / count);
    return `<g transform="rotate(${degrees} 100 100)">${shape}</g>`;
  });
  return `<g fill="${fill}">${turned.join('')}</g>`;
}

function pick<T>(from: readonly T[], by: number): T {
  const found = from[by % from.length];
  if (found === undefined) throw new Error('there is nothing to pick from');
  return found;
}

/** Read once, when the process starts. No fonts are sent: the system's stand in for those of the market. */
export const STYLE = asset(
  'city',
  'css',
  'text/css; charset=utf-8',
  readFileSync(fileURLToPath(new URL('./files/city.css', import.meta.url))),
);
/** What things have the city has too. */
export const ICON = asset('icon', 'svg', 'image/svg+xml', Buffer.from(drawEmblem({ id: 0n, name: 'Openaisle city' })));

export const ASSETS = [STYLE, ICON];
