import type { ListingDetail } from '../../../contract/listings.ts';

/** What a picture shows. Texts are fit to be looked at already; whether the font has their letters is the painter's business. */
export interface CardQuestion {
  kind: 'card';
  /** SVG of the large mark. */
  mark: string;
  colours: MarkColours;
  title: string;
  /** Where the title cannot be drawn. */
  otherwise: string;
  /** Beneath the title. */
  text: string;
  /** Large, at the foot; empty: none. */
  price: string;
  /** Small, at the foot. */
  from: { merchant: string; rest: string };
}

export interface IconQuestion {
  kind: 'icon';
  svg: string;
  /** In pixels, both ways. */
  size: number;
  /** Behind it, where corners must not be left open. */
  background: string | null;
}

/** As in `#1c5a3d`: what lies under the threads, then weft, warp, and warp of the second tone. */
export interface MarkColours {
  ground: string;
  w: string;
  a: string;
  b: string;
}

export type PictureQuestion = CardQuestion | IconQuestion;

/** Of a picture for links, in pixels: what those who show them ask for. */
export const CARD = { width: 1200, height: 630 } as const;

/** The colours of the pages for who draws in sRGB: OKLCH as in CSS Color 4, what lies outside cut off. As in `#1c5a3d`. */
export function hexOfOklch(lightness: number, chroma: number, hue: number): string {
  const turn = (hue * Math.PI) / 180;
  const a = chroma * Math.cos(turn);
  const b = chroma * Math.sin(turn);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const channels = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return `#${channels.map(hexOfChannel).join('')}`;
}

function hexOfChannel(linear: number): string {
  const bent = linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055;
  return Math.round(255 * Math.min(1, Math.max(0, bent)))
    .toString(16)
    .padStart(2, '0');
}

/** Whether what its merchant wrote may be shown where the page itself is not: not of what is off the market. */
export function isListingShown({ state, removed }: Pick<ListingDetail, 'state' | 'removed'>): boolean {
  return !removed && (state === 'live' || state === 'sold');
}
