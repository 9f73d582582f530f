import type { Tag } from './read-markup.ts';

const ELEMENTS = new Set(
  'html head meta title link script body a header div nav ul ol li main h1 h2 h3 p form label input button details summary select option svg g path rect line text desc table caption thead tbody tr th td figure figcaption bdi span strong time section dl dt dd code br footer q'.split(
    ' ',
  ),
);
const ATTRIBUTES = new Set(
  'lang charset name property content rel href type as crossorigin title src defer class aria-label aria-current aria-labelledby aria-describedby aria-hidden id tabindex role action method for value maxlength placeholder autocomplete autocapitalize spellcheck inputmode selected open viewbox d stroke-dasharray x y x1 x2 y1 y2 rx width height scope colspan dir datetime hidden data-copy data-live'.split(
    ' ',
  ),
);

/** Tags that no page of ours has: other elements or attributes, scripts from elsewhere, links that lead out without saying so. */
export function strangeTags(tags: readonly Tag[]): Tag[] {
  return tags.filter(({ name, isEnd, attributes }) => {
    if (isEnd) return false;
    if (!(ELEMENTS.has(name) || name === '!doctype')) return true;
    if ([...attributes.keys()].some((one) => !ATTRIBUTES.has(one))) return true;
    if (name === 'script' && !(attributes.get('src') ?? '').startsWith('/assets/')) return true;
    const href = attributes.get('href');
    if (name === 'link' && attributes.get('rel') === 'canonical') return !/^https?:\/\/[!-~]+$/.test(href ?? '');
    return href !== undefined && !/^[/#]/.test(href) && !leadsOutSafely(href, attributes.get('rel'));
  });
}

function leadsOutSafely(href: string, rel: string | undefined): boolean {
  return rel === 'nofollow ugc noopener' && /^https?:\/\/[!-~]+$/.test(href) && new URL(href).username === '';
}
