import { BODY_DEPTH, BODY_MEMBERS } from '../../contract/vocabulary.ts';

/** Why a body is not the JSON that this service reads, and where. Never holds a value of the body. */
export class JsonFault extends Error {
  override readonly name = 'JsonFault';
}

const MAX_NAMED_LENGTH = 100;
const NUMBER = /-?[0-9][0-9.eE+-]*/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON.parse says what is wrong with them
const UNLIKE_ITSELF = /[\\\u0000-\u001f]/;
const PLAIN_NUMBER = /^(?:0|[1-9][0-9]*)(?:\.[0-9]{1,6})?$/;

interface Reader {
  text: string;
  at: number;
  depth: number;
  /** Fields and items so far. */
  members: number;
}

/**
 * JSON as W1 wants it, which JSON.parse is too kind for: UTF-8 without a byte order mark, no repeated or magic keys, bounded depth,
 * numbers that a double holds exactly, in plain spelling. The top is an object.
 */
export function readJson(bytes: Uint8Array): Record<string, unknown> {
  const reader: Reader = { text: decode(bytes), at: 0, depth: 0, members: 0 };
  skipSpace(reader);
  if (reader.text[reader.at] !== '{') throw fault(reader, 'expected an object');
  const value = readObject(reader);
  skipSpace(reader);
  if (reader.at < reader.text.length) throw fault(reader, 'expected the end');
  return value;
}

function decode(bytes: Uint8Array): string {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new JsonFault('The body is not valid UTF-8.');
  }
  if (text.startsWith('\ufeff')) throw new JsonFault('The body begins with a byte order mark.');
  return text;
}

function fault(reader: Reader, problem: string): JsonFault {
  let line = 1;
  let begin = 0;
  for (let end = reader.text.indexOf('\n'); end >= 0 && end < reader.at; end = reader.text.indexOf('\n', begin)) {
    line += 1;
    begin = end + 1;
  }
  return new JsonFault(`Line ${line}, column ${reader.at - begin + 1}: ${problem}.`);
}

function skipSpace(reader: Reader): void {
  for (;;) {
    const code = reader.text.charCodeAt(reader.at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
    reader.at += 1;
  }
}

function readValue(reader: Reader): unknown {
  const first = reader.text[reader.at];
  if (first === '{') return readObject(reader);
  if (first === '[') return readArray(reader);
  if (first === '"') return readString(reader);
  if (first === 't') return readWord(reader, 'true', true);
  if (first === 'f') return readWord(reader, 'false', false);
  if (first === 'n') return readWord(reader, 'null', null);
  return readNumber(reader);
}

function readWord<T>(reader: Reader, word: string, value: T): T {
  if (!reader.text.startsWith(word, reader.at)) throw fault(reader, 'expected a value');
  reader.at += word.length;
  return value;
}

function enter(reader: Reader): void {
  reader.depth += 1;
  if (reader.depth > BODY_DEPTH) throw fault(reader, `nested deeper than ${BODY_DEPTH} levels`);
  reader.at += 1;
  skipSpace(reader);
}

/** Each costs whoever looks at it later; so they are counted before there are many. */
function countMember(reader: Reader): void {
  reader.members += 1;
  if (reader.members > BODY_MEMBERS) throw fault(reader, `more than ${BODY_MEMBERS} fields and items`);
}

function leaves(reader: Reader, close: string): boolean {
  if (reader.text[reader.at] !== close) return false;
  reader.at += 1;
  reader.depth -= 1;
  return true;
}

function expectComma(reader: Reader, close: string): void {
  if (reader.text[reader.at] !== ',') throw fault(reader, `expected a comma or ${close}`);
  reader.at += 1;
  skipSpace(reader);
}

function readObject(reader: Reader): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  enter(reader);
  for (let first = true; !leaves(reader, '}'); first = false) {
    if (!first) expectComma(reader, '}');
    countMember(reader);
    if (reader.text[reader.at] !== '"') throw fault(reader, 'expected a field name in double quotes');
    const nameAt = reader.at;
    const name = readString(reader);
    if (name === '__proto__') throw fault({ ...reader, at: nameAt }, 'a field of this name is not allowed');
    if (Object.hasOwn(members, name)) {
      const shown = JSON.stringify(name.slice(0, MAX_NAMED_LENGTH));
      throw fault({ ...reader, at: nameAt }, `the field ${shown} is given twice`);
    }
    skipSpace(reader);
    if (reader.text[reader.at] !== ':') throw fault(reader, 'expected a colon');
    reader.at += 1;
    skipSpace(reader);
    members[name] = readValue(reader);
    skipSpace(reader);
  }
  return members;
}

function readArray(reader: Reader): unknown[] {
  const items: unknown[] = [];
  enter(reader);
  for (let first = true; !leaves(reader, ']'); first = false) {
    if (!first) expectComma(reader, ']');
    countMember(reader);
    items.push(readValue(reader));
    skipSpace(reader);
  }
  return items;
}

function readString(reader: Reader): string {
  const close = closingQuote(reader);
  const spelled = reader.text.slice(reader.at, close + 1);
  if (!UNLIKE_ITSELF.test(spelled)) {
    reader.at = close + 1;
    return spelled.slice(1, -1);
  }
  try {
    const text: string = JSON.parse(spelled);
    reader.at = close + 1;
    return text;
  } catch {
    throw fault(reader, 'a text with a bare control character or an unknown escape');
  }
}

function closingQuote(reader: Reader): number {
  for (let close = reader.at; ; ) {
    close = reader.text.indexOf('"', close + 1);
    if (close < 0) throw fault(reader, 'a text that does not end');
    let backslashes = 0;
    while (reader.text[close - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return close;
  }
}

function readNumber(reader: Reader): number {
  NUMBER.lastIndex = reader.at;
  const spelled = NUMBER.exec(reader.text)?.[0];
  if (spelled === undefined) throw fault(reader, 'expected a value');
  if (!PLAIN_NUMBER.test(spelled)) {
    throw fault(reader, 'a number must be plain: no sign, no exponent, no leading zero, at most 6 decimals');
  }
  const value = Number(spelled);
  // Beyond these a double would round silently.
  const exact = spelled.includes('.') ? value < 1e9 : Number.isSafeInteger(value);
  if (!exact) throw fault(reader, 'a number is too large');
  reader.at += spelled.length;
  return value;
}
