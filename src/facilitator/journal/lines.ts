import { createHash } from 'node:crypto';

/**
 * A line of the journal: number, checksum, key, key of the line before, text, key. The key says which authorization the line is about; it
 * stands in three places, so that a line that has been damaged can still be told apart from one that never was.
 */
export interface Line {
  number: number;
  key: string;
  before: string;
  text: string;
}

export interface ReadLines {
  lines: Line[];
  /** What damaged lines were about. */
  damagedKeys: Set<string>;
  /** How many lines are lost. */
  damaged: number;
  /** Some of them cannot be told apart: whatever they were about might be settled twice. */
  isUnknown: boolean;
}

const KEY = '[0-9a-z]+(?:-[0-9a-f]{64})?';
const WHOLE = new RegExp(`^(\\d{1,15}) ([0-9a-f]{16}) (${KEY}) (${KEY}) (\\{.*\\}) (${KEY})$`);
const FIRST_KEY = new RegExp(`^\\d{1,15} [0-9a-f]{16} (${KEY}) `);
const LAST_KEY = new RegExp(`\\} (${KEY})$`);

export function printLine({ number, key, before, text }: Line): string {
  return `${number} ${checksum(number, key, before, text)} ${key} ${before} ${text} ${key}\n`;
}

/** A last line without its end was being written when the process ended: nothing that it says was ever acted on. */
export function readLines(file: string): ReadLines {
  const texts = file.split('\n').slice(0, -1);
  const read: ReadLines = { lines: [], damagedKeys: new Set(), damaged: 0, isUnknown: false };
  let broken: string[] = [];
  let last = 0;
  for (const text of texts) {
    const line = readLine(text);
    if (line === null) {
      broken.push(text);
      continue;
    }
    noteDamage(read, broken, { lost: line.number - last - 1, after: line.before });
    broken = [];
    last = line.number;
    read.lines.push(line);
  }
  noteDamage(read, broken, { lost: broken.length, after: null });
  return read;
}

/** Each lost line has to name its key by itself; the last of them is also named by the whole line after it. */
function noteDamage(
  read: ReadLines,
  broken: readonly string[],
  { lost, after }: { lost: number; after: string | null },
) {
  if (lost === 0 && broken.length === 0) return;
  read.damaged += Math.max(lost, broken.length);
  const keys = broken.map((text) => [FIRST_KEY.exec(text)?.[1], LAST_KEY.exec(text)?.[1]].filter(isText));
  for (const key of keys.flat()) read.damagedKeys.add(key);
  if (after !== null) read.damagedKeys.add(after);
  const nameless = keys.slice(0, after === null ? keys.length : -1).some((named) => named.length === 0);
  if (lost > Math.max(broken.length, after === null ? 0 : 1) || nameless) read.isUnknown = true;
}

function readLine(text: string): Line | null {
  const [, number = '', sum, key = '', before = '', body = '', again] = WHOLE.exec(text) ?? [];
  if (key !== again || sum !== checksum(Number(number), key, before, body)) return null;
  return { number: Number(number), key, before, text: body };
}

function checksum(number: number, key: string, before: string, text: string): string {
  return createHash('sha256').update(`${number} ${key} ${before} ${text}`).digest('hex').slice(0, 16);
}

function isText(value: string | undefined): value is string {
  return value !== undefined;
}
