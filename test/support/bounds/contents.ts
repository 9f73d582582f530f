/** Contents that can cost a careless parser more than their length suggests: texts, whole bodies, URLs and headers. */

/** Returns text of at most `room` bytes, and only slightly less. */
type Fill = (room: number) => string;

function filled(piece: string, { before = '', after = '' } = {}): Fill {
  const bytes = Buffer.byteLength(piece);
  return (room) => {
    const left = room - Buffer.byteLength(before) - Buffer.byteLength(after);
    return before + piece.repeat(Math.max(0, Math.floor(left / bytes))) + after;
  };
}

/** Contents of a JSON string, without its quotes. */
export const TEXTS: Readonly<Record<string, Fill>> = {
  marks: filled('\u0301\u0316', { before: 'a' }),
  'marks in escapes': filled('\\u0301\\u0316', { before: 'a' }),
  'piles of sixteen marks': filled(`a${'\u0301\u0316'.repeat(8)}`),
  'letters that grow': filled('\ufdfa'),
  'letters in three parts': filled('\u1112\u1161\u11ab'),
  'wide letters': filled('\u{1f600}'),
  'line ends': filled('\\n', { after: '!' }),
  spaces: filled(' ', { after: '!' }),
  base64: filled('QUJD'),
  digits: filled('9'),
  backslashes: filled('\\\\'),
  quotes: filled('\\"'),
  'percent escapes': filled('%41'),
  'beginnings of codes': filled('aisle_pc_'),
  'keys with a wrong checksum': filled(`aisle_sk_${'a'.repeat(49)}`),
  'addresses of full stops': filled('.', { before: 'http://', after: 'x' }),
};

/** Whole bodies that match no endpoint. */
export const BODIES: Readonly<Record<string, Fill>> = {
  'lists in lists': filled('[', { before: '{"a":' }),
  'objects in objects': filled('{"a":'),
  'many fields': (room) => `{${members(room - 2, (at) => `"f${at.toString(36)}":1`)}}`,
  'many items': (room) => `{"a":[${members(room - 8, () => '0')}]}`,
  'long names that differ at their end': (room) => `{${members(room - 2, (at) => `"${'n'.repeat(60)}${at}":1`)}}`,
  'the same name again': (room) => `{${members(room - 2, () => '"a":1')}}`,
  'a long number': filled('9', { before: '{"a":', after: '}' }),
  'a long fraction': filled('9', { before: '{"a":0.', after: '}' }),
  'a name of marks': filled('\u0301\u0316', { before: '{"', after: '":1}' }),
  'empty lines': filled('\n', { after: 'x' }),
  'a text that does not end': filled('a\\"', { before: '{"a":"' }),
  'byte zero': filled('\u0000'),
  'nothing but quotes': filled('"'),
  'texts of one letter': (room) => `{"a":[${members(room - 8, () => '"_"')}]}`,
};

function members(room: number, member: (at: number) => string): string {
  const all: string[] = [];
  for (let at = 0, length = 0; ; at += 1) {
    const next = member(at);
    length += next.length + 1;
    if (length > room) return all.join(',');
    all.push(next);
  }
}

/** Values for a query parameter. */
export const VALUES: Readonly<Record<string, Fill>> = {
  marks: filled('%CC%81%CC%96', { before: 'a' }),
  'line ends': filled('%0A', { after: '!' }),
  base64: filled('QUJD'),
  digits: filled('9'),
  quotes: filled('%22'),
  'quotes and letters': filled('%22a'),
  'signs of exclusion': filled('+-a'),
  'wide letters': filled('%E5%AD%97'),
  'beginnings of codes': filled('aisle_pc_'),
};

export const QUERIES: Readonly<Record<string, Fill>> = {
  'many empty pairs': filled('&'),
  'many pairs': filled('a=1&'),
  'many equals signs': filled('='),
  'many percent signs': filled('%'),
};

const base64 = (text: string): string => Buffer.from(text).toString('base64');
/** Base64 needs four characters for three bytes. */
const encoded =
  (fill: Fill): Fill =>
  (room) =>
    base64(fill(Math.floor((room * 3) / 4) - 3));

/** Headers that every route reads or searches for secrets. */
export const HEADERS: readonly (readonly [name: string, content: string, fill: Fill])[] = [
  ['accept', 'many types', filled('a/b,')],
  ['accept', 'one type of many parameters', filled(';q=1', { before: 'a/b' })],
  ['accept-encoding', 'many codings', filled('gzip,')],
  ['if-none-match', 'many tags', filled('"a",')],
  ['cookie', 'many cookies', filled('a=1;')],
  ['x-forwarded-for', 'many addresses', filled('127.0.0.1,')],
  ['x-forwarded-for', 'percent signs', filled('%')],
  ['authorization', 'a long key', filled('a', { before: 'Bearer ' })],
  ['user-agent', 'beginnings of codes', filled('aisle_pc_')],
  ['content-type', 'spaces', filled(' ', { before: 'application/json;', after: 'x' })],
  ['x-payment', 'lists in lists', encoded((room) => '['.repeat(room / 2) + ']'.repeat(room / 2))],
  ['payment-signature', 'objects in objects', encoded((room) => '{"a":'.repeat(room / 6) + 1 + '}'.repeat(room / 6))],
];

const proof = (fields: string): string => `{"x402Version":2,"payload":{${fields}}}`;

/** Payment headers; some are well formed. */
export const PROOFS: readonly (readonly [name: string, content: string, fill: Fill])[] = [
  ['payment-signature', 'a long signature', encoded((room) => proof(`"signature":"0x${'ab'.repeat(room / 2 - 40)}"`))],
  [
    'payment-signature',
    'a long value',
    encoded((room) => proof(`"authorization":{"value":"${'9'.repeat(room - 80)}"}`)),
  ],
  ['payment-signature', 'many fields', encoded((room) => proof(members(room - 40, (at) => `"${at}":1`)))],
  ['x-payment', 'marks', encoded(filled('\u0301\u0316', { before: '{"a":"', after: '"}' }))],
  ['x-payment', 'base64 with a wrong end', filled('A', { after: '!' })],
  ['x-delivery-token', 'a long token', filled('A')],
  ['x-recovery-slip', 'a long slip', filled('A', { before: 'rs1_' })],
];
