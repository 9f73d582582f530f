import { BODY_DEPTH, BODY_MEMBERS } from '../../contract/vocabulary.ts';

/** Why and where a body is not acceptable JSON. Never contains a name or value of the body. */
export class JsonFault extends Error {
  override readonly name = 'JsonFault';
}

const SPACE = /[ \n\r\t]*/y;
const WORD = /true|false|null/y;
const NUMBER = /-?[0-9][0-9.eE+-]*/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are matched on purpose, so that JSON.parse rejects them
const ESCAPE_OR_CONTROL = /[\\\u0000-\u001f]/;
const PLAIN_NUMBER = /^(?:0|[1-9][0-9]*)(?:\.[0-9]{1,6})?$/;

/**
 * Parses JSON more strictly than JSON.parse: UTF-8 without a byte order mark, no repeated keys or `__proto__`, limited depth and size, and
 * only numbers in plain notation that a double holds exactly. The top value must be an object.
 */
export function readJson(bytes: Uint8Array): Record<string, unknown> {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new JsonFault('The body is not valid UTF-8.');
  }
  if (text.startsWith('\ufeff')) throw new JsonFault('The body begins with a byte order mark.');
  return new Reader(text).whole();
}

class Reader {
  readonly #text: string;
  #at = 0;
  #depth = 0;
  #members = 0;

  constructor(text: string) {
    this.#text = text;
  }

  whole(): Record<string, unknown> {
    if (this.#next() !== '{') throw this.#fault('expected an object');
    const value = this.#object();
    if (this.#next() !== '') throw this.#fault('expected the end');
    return value;
  }

  #fault(problem: string, at = this.#at): JsonFault {
    let line = 1;
    let lineAt = 0;
    for (let next = this.#text.indexOf('\n'); next >= 0 && next < at; next = this.#text.indexOf('\n', lineAt)) {
      line += 1;
      lineAt = next + 1;
    }
    return new JsonFault(`Line ${line}, column ${at - lineAt + 1}: ${problem}.`);
  }

  /** Consumes a match at the current position. Null: no match. */
  #take(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text)?.[0] ?? null;
    this.#at += match?.length ?? 0;
    return match;
  }

  /** Skips whitespace and returns the next character without consuming it. Empty at the end. */
  #next(): string {
    this.#take(SPACE);
    return this.#text[this.#at] ?? '';
  }

  #value(): unknown {
    const first = this.#next();
    if (first === '{') return this.#object();
    if (first === '[') return this.#array();
    if (first === '"') return this.#string();
    const word = this.#take(WORD);
    return word === null ? this.#number() : JSON.parse(word);
  }

  #items(close: string, takeItem: () => void): void {
    this.#depth += 1;
    if (this.#depth > BODY_DEPTH) throw this.#fault(`nested deeper than ${BODY_DEPTH} levels`);
    this.#at += 1;
    for (let isFirst = true; this.#next() !== close; isFirst = false) {
      if (!isFirst && this.#take(/,/y) === null) throw this.#fault(`expected a comma or ${close}`);
      // Later checks take time for each member, so limit the number first.
      this.#members += 1;
      if (this.#members > BODY_MEMBERS) throw this.#fault(`more than ${BODY_MEMBERS} fields and items`);
      takeItem();
    }
    this.#at += 1;
    this.#depth -= 1;
  }

  #array(): unknown[] {
    const items: unknown[] = [];
    this.#items(']', () => items.push(this.#value()));
    return items;
  }

  #object(): Record<string, unknown> {
    const members: Record<string, unknown> = {};
    this.#items('}', () => {
      if (this.#next() !== '"') throw this.#fault('expected a field name in double quotes');
      const nameAt = this.#at;
      const name = this.#string();
      if (name === '__proto__') throw this.#fault('a field of this name is not allowed', nameAt);
      if (Object.hasOwn(members, name)) {
        // Name no field: escapes may have hidden a secret in it, since the guard has seen only the raw bytes.
        throw this.#fault('a field is given twice', nameAt);
      }
      if (this.#next() !== ':') throw this.#fault('expected a colon');
      this.#at += 1;
      members[name] = this.#value();
    });
    return members;
  }

  #string(): string {
    let close = this.#at;
    for (let backslashes = 1; backslashes % 2 === 1; ) {
      close = this.#text.indexOf('"', close + 1);
      if (close < 0) throw this.#fault('a text that does not end');
      backslashes = 0;
      while (this.#text[close - 1 - backslashes] === '\\') backslashes += 1;
    }
    const spelled = this.#text.slice(this.#at, close + 1);
    try {
      const text: string = ESCAPE_OR_CONTROL.test(spelled) ? JSON.parse(spelled) : spelled.slice(1, -1);
      this.#at = close + 1;
      return text;
    } catch {
      throw this.#fault('a text with a bare control character or an unknown escape');
    }
  }

  #number(): number {
    const begin = this.#at;
    const spelled = this.#take(NUMBER);
    if (spelled === null) throw this.#fault('expected a value');
    if (!PLAIN_NUMBER.test(spelled)) {
      const plain = 'a number must be plain: no sign, no exponent, no leading zero, at most 6 decimals';
      throw this.#fault(plain, begin);
    }
    const value = Number(spelled);
    // Larger numbers would be rounded silently.
    const isExact = spelled.includes('.') ? value < 1e9 : Number.isSafeInteger(value);
    if (!isExact) throw this.#fault('a number is too large', begin);
    return value;
  }
}
