import type { Page } from '../../platform/http/server-options.ts';
import type { Market } from '../context.ts';

/** Every route that is written by hand. */
export function marketPages(_market: Market): Page[] {
  return [];
}
