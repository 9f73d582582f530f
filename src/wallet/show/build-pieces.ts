import type { Piece } from '../goods/plan-markdown.ts';
import { element, seenText } from './element.ts';

/** A plan as nodes: elements by name, and everything else as text. */
export function buildPieces(pieces: readonly Piece[]): Node[] {
  return pieces.flatMap((piece) => {
    if (typeof piece === 'string') return seenText(piece);
    const { tag, href, start, children } = piece;
    const link = href === undefined ? {} : { href, rel: 'nofollow ugc noopener' };
    const first = start === undefined ? {} : { start };
    const focus = tag === 'pre' ? { tabindex: 0 } : {};
    const made = element(tag, { ...link, ...first, ...focus }, ...buildPieces(children));
    // A wide table scrolls by itself, and the page stays as wide as it is.
    return tag === 'table'
      ? [element('div', { class: 'scrolls', tabindex: 0, role: 'region', 'aria-label': 'Table' }, made)]
      : [made];
  });
}
