import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findReserved, foldHandle, handleSkeleton, RESERVED_HANDLES, RESERVED_PARTS } from './handles.ts';
import { HANDLE_PATTERN } from './identity.ts';

const handles = fc.stringMatching(new RegExp(HANDLE_PATTERN));

test.each([
  ['modern', 'rnodern'],
  ['zoo-keeper', 'z00-keeper'],
  ['paypal', 'paypa1'],
  ['wave', 'vvave'],
  ['a-b', 'a---b'],
  ['abc', 'abc-'],
  ['vvv', 'vw'],
  ['warm-lo0p', 'vvarrn--1oop-'],
])('%s and %s look alike, as they always did', (one, other) => {
  expect(handleSkeleton(one)).toBe(handleSkeleton(other));
  expect(foldHandle(one)).toBe(foldHandle(other));
});

test.each([
  ['alice', 'alicia'],
  ['a-b', 'ab'],
  ['north', 'mouth'],
  ['agent-2', 'agent-3'],
])('%s and %s do not', (one, other) => {
  expect(handleSkeleton(one)).not.toBe(handleSkeleton(other));
});

test('any exchange of look-alikes keeps the skeleton', () => {
  const exchanges = [
    ['m', 'rn'],
    ['o', '0'],
    ['l', '1'],
    ['w', 'vv'],
    ['-', '--'],
  ] as const;
  fc.assert(
    fc.property(handles, fc.constantFrom(...exchanges), (handle, [one, other]) => {
      expect(handleSkeleton(handle.replaceAll(one, other))).toBe(handleSkeleton(handle));
      expect(handleSkeleton(handle.replaceAll(other, one))).toBe(handleSkeleton(handle));
    }),
  );
});

test.each([
  ['keeper', 'kee-per'],
  ['keeper', 'k33per'],
  ['maintainer', 'maintalner'],
  ['jill', 'li1j'],
  ['basis', '8a5i5'],
  ['zebra', '2ebra'],
  ['a-b', 'ab'],
  ['north-wind', 'n0rthvv1nd'],
  ['treasure', '7reasure'],
  ['gear-shop', 'qear-sh0p'],
  ['gear-shop', '9ear5hop'],
  ['dora', 'clora'],
  ['dora', 'c1-ora'],
  ['mina', 'nnina'],
  ['summer', 'sunnnner'],
  ['mn', 'nnn'],
  ['nm', 'nnn'],
])('of %s and %s only one can be registered', (one, other) => {
  expect(foldHandle(one)).toBe(foldHandle(other));
});

test.each([
  ['alice', 'alicia'],
  ['agent-2', 'agent-3'],
  ['agent-6', 'agent-9'],
  ['north', 'mouth'],
  ['merchant-1', 'merchant-11'],
])('%s and %s can both be registered', (one, other) => {
  expect(foldHandle(one)).not.toBe(foldHandle(other));
});

test('any exchange of look-alikes keeps the folded handle, wherever the exchanged letters stand', () => {
  const exchanges = [
    ...['il', 'l1', '1j', 'o0', 's5', 'e3', 'a4', 'b8', 'z2', 't7', 'g9', 'gq'].map((pair) => [...pair]),
    ...[
      ['m', 'rn'],
      ['m', 'nn'],
      ['d', 'cl'],
      ['w', 'vv'],
      ['-', ''],
    ],
  ];
  const crowded = fc.string({ unit: fc.constantFrom(...'mnrnnclid1vw-7t9gq'), maxLength: 12 });
  fc.assert(
    fc.property(crowded, fc.constantFrom(...exchanges), crowded, (before, [one = '', other = ''], after) => {
      expect(foldHandle(before + one + after)).toBe(foldHandle(before + other + after));
    }),
    { numRuns: 2_000 },
  );
});

test('handles with the same skeleton have the same fold', () => {
  fc.assert(
    fc.property(handles, handles, (one, other) => {
      const alike = one.replaceAll('o', '0').replaceAll('l', '1').replaceAll('rn', 'm').replaceAll('vv', 'w');
      expect(foldHandle(alike)).toBe(foldHandle(one));
      if (handleSkeleton(one) === handleSkeleton(other)) expect(foldHandle(one)).toBe(foldHandle(other));
    }),
  );
});

const ruleOf = (handle: string): string | null => findReserved(handle, 'keeper')?.rule ?? null;

test('every reserved word has the form of a handle, is refused, and so is what looks like it', () => {
  for (const word of RESERVED_HANDLES) {
    expect(word).toMatch(new RegExp(HANDLE_PATTERN));
    for (const form of [word, `${word}-`, word.split('').join('-')]) expect(ruleOf(form), form).not.toBeNull();
  }
  for (const alike of ['adrnin', '0fficial', 'rnarket', 'wa11et', 'open-aisle', 'usdc--', 'w4llet', 'jo1n', 'c1ty']) {
    expect(ruleOf(alike), alike).toBe('word');
  }
});

test('a reserved part, or its plural, is refused wherever it stands between hyphens', () => {
  for (const part of RESERVED_PARTS) {
    const forms = [part, `${part}s`, part.replace(/y$/, 'ies')].flatMap((form) => [
      ...[`my-${form}`, `${form}-desk`, `the-${form}-of-it`, `${form}-2`],
      ...[`the-${form.slice(0, 3)}-${form.slice(3)}`, `x-${form.replaceAll('i', '1').replaceAll('s', '5')}`],
    ]);
    for (const form of forms) expect(findReserved(form, null), form).toEqual({ rule: 'part', word: part });
  }
});

test.each([
  ...['openaisle-support', 'openaisle-official', 'official-keeper', 'kee-per', 'keepers', 'keeper-of-the-market'],
  ...[
    'treasury-refunds',
    'usdc-refund',
    'support-team',
    'moderators',
    'maintainers',
    'maintalner',
    'malntainer',
    'admln',
  ],
  ...['officlal', 'secur1ty', '0penaisle', 'supp0rt', 'wa11et', 'rnarket', 'keeper-', 'k-33per-s', 'sup-port-desk'],
  ...['supportteam', 'openaislesupport', 'keepersupport', 'officialkeeper', 'treasurywallet', 'refundsdesk-support'],
  ...['keeper1', 'openaisle1', '0penaisle24', 'maintainer1', 'support24', 'system1', 'support24-desk', 'my-keeper-007'],
  ...[
    '7reasury',
    'suppor7',
    'aclmin',
    'adnnin',
    'ac1nnin2',
    'supportteam9',
    'usdclegalsupport',
    'adminnull',
    'admin-0ne',
  ],
])('%s passes for nobody: the market or the maintainer would be taken for its owner', (handle) => {
  expect(ruleOf(handle)).not.toBeNull();
});

test.each([
  ...[
    'stella',
    'tessa',
    'jill',
    'bell',
    'basil-works',
    'oslo-data',
    'cityguide',
    'city-guide',
    'city-maps',
    'worldview',
  ],
  ...['dream-team', 'teamwork', 'team-42', 'docs-for-rust', 'docsmith', 'marketeer', 'market-data', 'night-market'],
  ...[
    'my-wallet',
    'wallet-watch',
    'bridge-builder',
    'circle-line',
    'baseline',
    'base64-tools',
    'api-tester',
    'joinery',
  ],
  ...[
    'administer',
    'supporter',
    'unofficial',
    'refunded',
    'stafford',
    'flagstaff',
    'secure-shell',
    'secured',
    'treasure',
  ],
  ...['treasure-map', 'moderate', 'maintain', 'maintained-code', 'keepsake', 'bookkeeper', 'beekeeper', 'gatekeeper'],
  ...[
    'zookeeping',
    'system-of-a-town',
    'owner-one',
    'statusquo',
    'legalese',
    'privacy-first',
    'helpful',
    'help-yourself',
  ],
  ...['alice', 'bob', 'mira', 'quill', 'ink-and-paper', 'agent-7', 'gpt-tinkerer', 'lisbon-labs', 'j1m', 'x11', '8bit'],
  ...[
    'collins',
    'anna',
    'clara',
    'nina9',
    'quinn',
    'clinic',
    'dennis',
    'click-7',
    'connor',
    'penny-lane',
    'r2d2',
    'web3',
  ],
  ...[
    'route66',
    'studio54',
    'gpt4',
    'cloud9',
    'seven7',
    'base64-tools',
    'world-cup-26',
    'team-42-',
    'status-1',
    'q9',
    '42',
  ],
  ...['rootstock', 'nullify', 'anonymouse', 'contact-lens', 'accountant', 'paymentless', 'termsheet', 'opensource'],
])('%s stays possible', (handle) => {
  expect(findReserved(handle, 'keeper')).toBeNull();
});

test('a maintainer’s handle is reserved like a part, whatever it is', () => {
  for (const alike of ['the-mira', 'm1ra-2', 'rnira', 'mi-ra', 'miras', 'mira-official'])
    expect(findReserved(alike, 'mira'), alike).not.toBeNull();
  for (const other of ['mirabel', 'admiral', 'miriam']) expect(findReserved(other, 'mira'), other).toBeNull();
  expect(findReserved('the-night-shop', 'night-shop')).toEqual({ rule: 'part', word: 'night-shop' });
  expect(findReserved('night-watch', 'night-shop')).toBeNull();
});

test('the longest handles are judged at once', () => {
  const longest = 'a-'.repeat(16);
  const begun = performance.now();
  for (let round = 0; round < 50; round += 1) findReserved(longest, 'a-a-a-a');
  expect((performance.now() - begun) / 50).toBeLessThan(20);
});
