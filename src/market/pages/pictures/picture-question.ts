import type { ListingDetail } from '../../../contract/listings.ts';

/** Content of a preview picture. Texts are already cleaned; the painter drops letters that its font lacks. */
export interface CardQuestion {
  kind: 'card';
  /** SVG of the large mark. */
  mark: string;
  colours: MarkColours;
  title: string;
  /** Title to show if the font cannot draw `title`. */
  otherwise: string;
  /** Text below the title. */
  text: string;
  /** Price, in large letters at the bottom. Empty for none. */
  price: string;
  /** Origin, in small letters at the bottom. */
  from: { merchant: string; rest: string };
}

export interface IconQuestion {
  kind: 'icon';
  svg: string;
  /** Width and height in pixels. */
  size: number;
  /** Background colour, if the corners must not be transparent. Null for none. */
  background: string | null;
}

/** Colours such as `#1c5a3d`: background, weft (`w`), warp (`a`) and the warp's second tone (`b`). */
export interface MarkColours {
  ground: string;
  w: string;
  a: string;
  b: string;
}

export type PictureQuestion = CardQuestion | IconQuestion;

/** Size in pixels that link previews expect. */
export const CARD = { width: 1200, height: 630 } as const;

/** Converts OKLCH to sRGB such as `#1c5a3d` (CSS Color 4). Clips colours outside of sRGB. */
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

/** Whether previews may show the merchant's texts. They may not once the goods are off the market. */
export function isListingShown({ state, removed }: Pick<ListingDetail, 'state' | 'removed'>): boolean {
  return !removed && (state === 'live' || state === 'sold');
}
