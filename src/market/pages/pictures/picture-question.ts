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
