import type { Sabotage } from '../sabotage.ts';

const FOLDER = 'src/locks/folder-lock.ts';
const ENTER = 'src/locks/enter-folder.ts';
const EARLIER = 'src/locks/earlier-name.ts';
const GROWTH = 'src/platform/log-copy/watch-growth.ts';

const TAKES = ['src/locks/take-lock.test.ts'];
const GROWS = ['src/market/recovery/market-history.test.ts'];

function bug(name: string, file: string, find: string, put: string, tests: readonly string[]): Sabotage {
  return { name, edits: [{ file, find, put }], tests };
}

// Not tested here: the second check of each process after it made its link. Only many processes reveal it; see
// src/locks/kills.heavy.test.ts.

/** Bugs in locks that only their owner can take, and in the alarm for a log copy that has stopped. */
export const LOCKS: readonly Sabotage[] = [
  bug(
    'a-lock-folder-of-anybody',
    ENTER,
    "if (!owners.has(uid)) throw new LockFailure('foreign', { path });",
    '',
    TAKES,
  ),
  bug('a-lock-folder-by-a-link', ENTER, ' | constants.O_NOFOLLOW', '', TAKES),
  bug('a-socket-of-anybody-holds', FOLDER, 'owners.has(entry.uid) && ', '', TAKES),
  bug('a-killed-holder-for-ever', FOLDER, 'await isListenedAt(join(at, name))', 'true', TAKES),
  bug(
    'a-lock-of-another-is-given-up',
    FOLDER,
    'if ((await readId(join(path, HOLDER))) === own.id) await rm',
    'await rm',
    TAKES,
  ),
  bug(
    'the-version-before-is-a-stranger',
    EARLIER,
    'const isOurs = uid !== null && owners.has(uid);',
    'const isOurs = false;',
    TAKES,
  ),
  bug(
    'a-stranger-is-the-version-before',
    EARLIER,
    "return { by: isHidden ? 'unseen' : 'stranger' };",
    "return { by: 'unseen' };",
    TAKES,
  ),
  bug('a-copy-that-stands-still-in-silence', GROWTH, 'isBehind = true;', 'return;', GROWS),
];
