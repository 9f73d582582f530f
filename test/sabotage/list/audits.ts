import type { Sabotage } from '../sabotage.ts';

const PROMISES = 'test/audit/promises.ts';
const PRINT = 'test/audit/print.ts';
const JUDGED = ['test/audit/promises.test.ts'];
const PRINTED = ['test/audit/print.test.ts'];

function bug(name: string, file: string, find: string, put: string, tests: readonly string[]): Sabotage {
  return { name, edits: [{ file, find, put }], tests };
}

/** Lies of a market that its auditor would miss. */
export const AUDITS: readonly Sabotage[] = [
  bug('sold-goods-are-edited', PROMISES, 'sold === null ? []', "sold !== '' ? []", JUDGED),
  bug('a-vague-promise-counts', PROMISES, 'missing.length > 0 && isDue', 'missing.length > 9 && isDue', JUDGED),
  bug(
    'prices-alone-are-promises',
    PROMISES,
    '!line.isDrawn() && vague() > 0',
    '!line.isDrawn() && vague() > 99',
    JUDGED,
  ),
  bug('an-upgrade-never-ends', PROMISES, 'latest > until ||', 'latest < 0 ||', JUDGED),
  bug('an-id-is-listed-twice', PROMISES, 'if (before !== undefined) return [', 'if (before === null) return [', JUDGED),
  bug('anybody-withdraws', PROMISES, 'isOwn || actor ===', 'isOwn || kind !== actor ||', JUDGED),
  bug('anybody-moderates', PROMISES, 'maintainer === undefined || actor ===', "actor !== '' || actor ===", JUDGED),
  bug('an-ending-covers-a-removal', PROMISES, "if (act === 'removed') promised", 'promised', JUDGED),
  bug('a-clock-may-stand-ahead', PROMISES, 'latest > aheadMs', 'latest < 0', JUDGED),
  bug('controls-are-printed', PRINT, '[\\p{Cc}\\p{Cf}', '[\\p{Cf}', PRINTED),
  bug(
    'a-long-text-is-cleaned-whole',
    PRINT,
    'const cut = text.length > most',
    'const cut = text.length > 1e12',
    PRINTED,
  ),
];
