import { isAbsolute, relative } from 'node:path';

/** As a user in this folder would type it. */
export function shownPath(path: string): string {
  const short = relative('', path);
  return short === '' || short.startsWith('..') || isAbsolute(short) ? path : short;
}
