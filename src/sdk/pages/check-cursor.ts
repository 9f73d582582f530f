import type { Ids } from './check-rows.ts';
import { PageRefused } from './page-refused.ts';

interface Continued {
  has_more: boolean;
  next: number | string | null;
}

interface Position {
  cursors: Set<string>;
  lastId: number | null;
}

/** The cursor to go on with, or null at the end. */
export function checkCursor(page: Continued, rule: Ids, walk: Position): string | null {
  const { has_more, next } = page;
  if (!has_more) {
    if (next !== null) throw new PageRefused('cursor_after_the_end', 'a cursor came with the last page');
    return null;
  }
  if (next === null) throw new PageRefused('missing_cursor', 'more pages are promised without a cursor');
  const text = String(next);
  if (walk.cursors.has(text)) throw new PageRefused('repeated_cursor', 'a cursor came a second time');
  walk.cursors.add(text);
  if (typeof next === 'number') checkNumeric(next, rule, walk.lastId);
  return text;
}

// A numeric cursor is the id of the last row read: before it rows would repeat, beyond it rows would be left out.
function checkNumeric(next: number, rule: Ids, lastId: number | null): void {
  if (lastId === null || next === lastId) return;
  const beyond = rule === 'oldest_first' ? next > lastId : next < lastId;
  if (beyond) throw new PageRefused('cursor_skips_rows', `the cursor ${next} skips rows after ${lastId}`);
  throw new PageRefused('cursor_does_not_advance', `the cursor ${next} does not pass row ${lastId}`);
}
