import type { Tag } from './read-markup.ts';

/**
 * What a page is built of: each tag with its class and id, without what a merchant may add to it, which is links to plain addresses.
 * Two pages that differ in texts alone have the same one.
 */
export function skeletonOf(tags: readonly Tag[]): string[] {
  const names: string[] = [];
  let isInOwnLink = true;
  let isInMark = false;
  for (const { name, isEnd, attributes } of tags) {
    // Marks are drawn from numbers, each another way.
    if (name === 'svg') isInMark = !isEnd;
    if (isInMark) continue;
    if (name === 'a' && !isEnd) isInOwnLink = attributes.get('rel') !== 'nofollow ugc noopener';
    if (name === 'a' && !isInOwnLink) continue;
    const [id, kind] = [attributes.get('id'), attributes.get('class')];
    names.push(
      `${isEnd ? '/' : ''}${name}${id === undefined || /\d/.test(id) ? '' : `#${id}`}${kind === undefined ? '' : `.${kind}`}`,
    );
  }
  return names;
}

/** The same of each row of a list. */
export function rowsOf(tags: readonly Tag[], row: string): string[] {
  const names = skeletonOf(tags);
  const begins = names.flatMap((name, at) => (name === row ? [at] : []));
  return begins.map((at) => names.slice(at, names.indexOf('/li', at)).join(' '));
}
