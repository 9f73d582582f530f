import { RESERVED_HANDLES } from './reserved-handles.ts';

/**
 * What a handle looks like: two handles with one skeleton can be taken for each other, so only one of them may exist. The wide
 * letters are spelled out (m as rn, w as vv), which makes vvv, vw and wv one.
 */
export function handleSkeleton(handle: string): string {
  return handle
    .replaceAll('0', 'o')
    .replaceAll('1', 'l')
    .replaceAll('m', 'rn')
    .replaceAll('w', 'vv')
    .replaceAll(/-+/g, '-')
    .replaceAll(/^-|-$/g, '');
}

function withoutHyphens(handle: string): string {
  return handleSkeleton(handle).replaceAll('-', '');
}

const reserved = new Set(RESERVED_HANDLES.map(withoutHyphens));

/** Whether the handle is, or can be taken for, a word that no merchant may go by. */
export function isReservedHandle(handle: string): boolean {
  return reserved.has(withoutHyphens(handle));
}
