import { expect, test } from 'vitest';
import { mixesLookAlikes } from './look-alikes.ts';
import { isInvisible } from './seen-text.ts';
import { publicText } from './text.ts';

test.each([
  ['braille blanks', '\u2800\u2800\u2800\u2800'],
  ['spaces of many widths', ' \u00a0\u2003\u3000 '],
  ['blanks between spaces', '\u2800 \u2800 \u2800'],
  ['marks on nothing', ' \u0301\u0301 \u0308'],
  ['a note without a head', '\u{1d159}\u{1d159}\u{1d159}'],
  ['blanks of hieroglyphs', '\u{13441}\u{13442}\u{13441}'],
  ['the place of an object', '\ufffc\ufffc\ufffc'],
  ['letters for private use', '\ue000\ue001\ue002'],
])('%s are no title', (_, text) => {
  expect(isInvisible(text)).toBe(true);
  expect(publicText(3, 120).safeParse(text).success).toBe(false);
});

test.each(['⠓⠑⠇⠇⠕', '...', '🎲🎲🎲', '日本語', 'a\u2800b', '𓀀𓀁𓀂', 'é\u0301x', '———', '½ ¼'])(
  '%s can be seen',
  (text) => {
    expect(isInvisible(text)).toBe(false);
    expect(publicText(1, 120).safeParse(text).success).toBe(true);
  },
);

test.each([
  ['Cyrillic in a Latin word', 'Оpenaisle оfficial refund desk'],
  ['one letter of it', 'The openаisle guide'],
  ['most of it', 'раураl account tools'],
  ['Greek omicron', 'Open sοurce kit'],
  ['Greek alpha among small letters', 'αdmin handbook'],
  ['Greek capitals', 'ΟFFICIAL list'],
  ['Armenian', 'Suppօrt desk'],
  ['Cherokee', 'ᏚUPPORT desk'],
  ['Lisu', 'ꓢECURITY notes'],
  ['Latin in a Cyrillic word', 'Сбербaнк онлайн'],
  ['a word in disguise beside Latin ones', 'Notes of САКЕ and tea'],
  ['the same in small letters', 'сосоа recipes'],
  ['a Cyrillic palochka', 'Openaisӏe official'],
  ['its capital', 'OFFICIAӀ list'],
  ['a Cyrillic r', 'гefund desk'],
  ['a Cyrillic n', 'Opeпaisle'],
  ['a Greek n', 'Opeηaisle'],
  ['a straight y', 'treasurү'],
  ['a Cyrillic q', 'ԛuick help'],
  ['an Armenian h', 'հelp desk'],
  ['one letter that looks like none beside others that do', 'Оpеnаislж official'],
  ['the same in the middle', 'Openжisle оfficial'],
  ['the same beside one letter in disguise', 'Suppоrtдesk'],
])('%s is noted: %s', (_, text) => {
  expect(mixesLookAlikes(text)).toBe(true);
});

test.each([
  ...[
    'SQL-запрос и JOINы',
    'PDFки и DOCи',
    'Linuxовые утилиты',
    'iPhoneом снято',
    'мкFarad',
    'IP-адреса',
    'η-conversion',
    'пн-пт plan',
    'γGTP',
  ],
  ...['USB-кабель', 'Python для Excel с нуля', 'Гайд по Docker и Kubernetes', 'Обзор iPhone 15', 'A4-бумага и PDF'],
  ...['Нове видання для Linux', 'Ја и Python', 'У Java свету', 'Србија Open Data', 'Кирилица and Latin side by side'],
  ...[
    'β-carotene',
    'α-helix and β-sheet',
    'TNFα and NFκB pathways',
    'PPARγ notes',
    'µTorrent mirrors',
    '10 μm filters',
    'kΩ tables',
  ],
  ...['χ² test in R', 'Ελληνικά για developers', 'Δv budget', 'λ-calculus for Python', 'π day'],
  ...[
    '東京 travel guide',
    'TypeScript入門',
    'ピアノ MIDI コレクション',
    '한국어 NLP kit',
    'Łódź street map',
    'Ørsted naïve façade',
  ],
  ...[
    'İstanbul ılık',
    'Việt Nam',
    'ﬁne print',
    'Հայերեն բառարան for beginners',
    'ᏣᎳᎩ language pack',
    'ⲙⲛⲧⲣⲙⲛⲕⲏⲙⲉ Coptic font',
  ],
  ...['Plain ASCII title', 'Он и она', '𝐎fficial bold', 'Emoji 🎲 dice', 'А', 'С 1 по 10'],
])('%s is a title like any other', (text) => {
  expect(mixesLookAlikes(text)).toBe(false);
});

test('a title of full length is judged at once', () => {
  for (const text of [
    'о'.repeat(120),
    'oо'.repeat(60),
    'оo '.repeat(40),
    '\u2800'.repeat(120),
    `a${'\u0301'.repeat(119)}`,
  ]) {
    const begun = performance.now();
    for (let round = 0; round < 100; round += 1) {
      mixesLookAlikes(text);
      isInvisible(text);
    }
    expect((performance.now() - begun) / 100).toBeLessThan(5);
  }
});
