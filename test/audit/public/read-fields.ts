import { shown } from '../print.ts';
import { unitsOf } from '../told.ts';
import { MarketUnreadable } from './ask-market.ts';

/** Position in an answer for messages. Contains only our own words and numbers. */
type Where = string;

/** Reads the fields of an answer, each in its only allowed form. Any other form ends the audit, because such an answer shows nothing. */
export interface Fields {
  id(name: string): number;
  idOrNull(name: string): number | null;
  count(name: string): number;
  flag(name: string): boolean;
  /** Returns a text of at most `most` characters. */
  text(name: string, most: number): string;
  textOrNull(name: string, most: number): string | null;
  word(name: string): string;
  wallet(name: string): string;
  hash(name: string): string;
  hashOrNull(name: string): string | null;
  units(name: string): string;
  /** Returns a time in milliseconds. */
  time(name: string): number;
  object(name: string): Fields;
  /** Returns at most `most` rows. */
  rows(name: string, most: number): Fields[];
  raw(name: string): unknown;
  names(): string[];
}

const WORD = /^[a-z][a-z0-9_]{0,39}$/;
const WALLET = /^0x[0-9a-fA-F]{40}$/;
const HASH = /^0x[0-9a-fA-F]{64}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

export function readFields(value: unknown, where: Where): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new MarketUnreadable(`${where} is ${shown(value)} in place of an object`);
  const members = value as Readonly<Record<string, unknown>>;
  // Ignore inherited members such as `constructor`.
  const raw = (name: string): unknown => (Object.hasOwn(members, name) ? members[name] : undefined);
  const must = <T>(name: string, form: string, read: (given: unknown) => T | null): T => {
    const found = read(raw(name));
    if (found === null) throw new MarketUnreadable(`${where}.${name} is ${shown(raw(name))} in place of ${form}`);
    return found;
  };
  const orNull = <T>(name: string, read: (name: string) => T): T | null => (raw(name) === null ? null : read(name));
  const matching = (name: string, form: string, pattern: RegExp): string =>
    must(name, form, (given) =>
      typeof given === 'string' && given.length <= 100 && pattern.test(given) ? given : null,
    );
  const fields: Fields = {
    raw,
    names: () => Object.keys(members),
    id: (name) => must(name, 'an id', (given) => (isCount(given) && given > 0 ? given : null)),
    idOrNull: (name) => orNull(name, fields.id),
    count: (name) => must(name, 'a whole number', (given) => (isCount(given) ? given : null)),
    flag: (name) => must(name, 'true or false', (given) => (typeof given === 'boolean' ? given : null)),
    text: (name, most) =>
      must(name, `a text of at most ${most} characters`, (given) =>
        typeof given === 'string' && given.length <= 2 * most ? given : null,
      ),
    textOrNull: (name, most) => orNull(name, (given) => fields.text(given, most)),
    word: (name) => matching(name, 'a word', WORD),
    wallet: (name) => matching(name, 'an address', WALLET).toLowerCase(),
    hash: (name) => matching(name, 'a hash', HASH).toLowerCase(),
    hashOrNull: (name) => orNull(name, fields.hash),
    units: (name) => must(name, 'a sum of USDC', (given) => (unitsOf(given) === '?' ? null : unitsOf(given))),
    time: (name) => Date.parse(matching(name, 'a time', TIME)),
    object: (name) => readFields(raw(name), `${where}.${name}`),
    rows: (name, most) =>
      must(name, `a list of at most ${most}`, (given) =>
        Array.isArray(given) && given.length <= most
          ? given.map((row, at) => readFields(row, `${where}.${name}[${at}]`))
          : null,
      ),
  };
  return fields;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

/** Counts that every page of a collection has. */
export interface PageCounts {
  total: number;
  returned: number;
  size: number;
  hasMore: boolean;
}

/** Returns a contradiction within one page, or null. */
export function faultOfPage(
  { total, returned, size, hasMore }: PageCounts,
  rows: number,
  limit: number,
): string | null {
  if (returned !== rows) return `a page says ${returned} rows and has ${rows}`;
  if (size !== limit) return `a page is of ${size} rows where ${limit} were asked for`;
  if (rows > limit) return `a page of ${limit} rows has ${rows}`;
  if (rows > total) return `a page has ${rows} rows of a total of ${total}`;
  if (rows === 0 && hasMore) return 'a page is empty and more are promised';
  return null;
}
