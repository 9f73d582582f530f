import { describe, expect, it } from 'vitest';
import { createPromises, faultsOfPromise } from './promises.ts';
import type { EventDetail } from './told.ts';

const WALLET = `0x${'Ab'.repeat(20)}`;
const HASH = `0x${'c1'.repeat(32)}`;
const OTHER = `0x${'d2'.repeat(32)}`;
const WHOLE = { price_usdc: 2.5, seller_wallet: WALLET, aisle: 'data', artifact_commitment: HASH };

type Told = readonly [kind: string, detail: EventDetail];
const lists = (id: number, changes: EventDetail = {}): Told => ['listing', { listing_id: id, ...WHOLE, ...changes }];
const act =
  (kind: string, changes: EventDetail = {}) =>
  (id: number, more: EventDetail = {}): Told => [kind, { listing_id: id, ...changes, ...more }];
const sells = act('sale', { paid_usdc: 2.5, verified_via: 'direct' });
const gives = act('sale', { paid_usdc: 0, verified_via: 'free' });
const edits = act('listing_edit', { fields: ['preview'] } as EventDetail);
const exchanges = act('listing_edit', { fields: ['artifact'], artifact_commitment: OTHER } as EventDetail);
const withdraws = act('withdrawal');
const removes = act('moderation', { action: 'remove' });
const restores = act('moderation', { action: 'decide_appeal', outcome: 'restored' });
const free = (id: number): Told => lists(id, { price_usdc: 0 });
const thing = (id: number): Told => lists(id, { aisle: 'world', artifact_commitment: undefined });
/** Builds an event in the older form, which promises only the price. */
const vague = (id: number): Told => ['listing', { listing_id: id, price_usdc: 2.5, aisle: 'data' }];

const BEGUN = Date.parse('2026-01-05T12:00:00.000Z');
const HOUR = 3_600_000;

/** Checks events that are an hour apart by default. */
function judge(events: readonly Told[], since: number | null = null, apartMs = HOUR) {
  const promises = createPromises({ since });
  const faults = events.flatMap(([kind, detail], place) => {
    const at = new Date(BEGUN + place * apartMs).toISOString();
    return promises.take(`event ${place + 1}`, { id: place + 1, kind, at, actor: 'somebody', detail });
  });
  return { promises, faults: [...faults, ...promises.left()] };
}
const faultsOf = (events: readonly Told[], since?: number): string[] => judge(events, since ?? null).faults;

const HONEST: readonly (readonly [name: string, events: readonly Told[]])[] = [
  ['edits before the first sale', [lists(1), edits(1), edits(1), sells(1), sells(1)]],
  ['free goods exchanged before they are taken', [free(1), exchanges(1), edits(1, { fields: ['title'] }), gives(1)]],
  ['a sale of what was paid for before it was withdrawn', [lists(1), withdraws(1), sells(1)]],
  ['a removal taken back, and an edit after it', [lists(1), removes(1), restores(1), edits(1), sells(1)]],
  ['free goods taken after a removal was taken back', [free(1), removes(1), restores(1), gives(1)]],
  [
    'a thing that is sold, and one that is canceled',
    [thing(1), act('world_sale')(1), thing(2), act('world_canceled')(2)],
  ],
  ['a removed thing that is sold in its city', [thing(1), removes(1), act('world_sale')(1)]],
  [
    'kinds that are not known',
    [
      ['constructor', { listing_id: 1 }],
      ['new_kind', { listing_id: 'x' as never }],
      lists(1),
      ['store_line_emptied', {}],
    ],
  ],
  ['acts of the maintainer on what is no listing', [act('moderation', { action: 'fee_review' })(1), lists(2)]],
  ['listings from before events told more', [vague(1), vague(2), edits(1), lists(3)]],
  ['a rolling upgrade', [vague(1), lists(2), vague(3), lists(4)]],
  ['one that supersedes another', [lists(1), sells(1), lists(2, { supersedes: 1 })]],
];

const LYING: readonly (readonly [name: string, events: readonly Told[], fault: RegExp])[] = [
  ['an edit after a sale', [lists(1), sells(1), edits(1)], /^event 3 edits listing 1, which event 2 sold before$/],
  [
    'other free goods after they were taken',
    [free(1), gives(1), exchanges(1)],
    /^event 3 edits listing 1, which event 2 sold/,
  ],
  [
    'an edit after the withdrawal',
    [lists(1), withdraws(1), edits(1)],
    /event 3 edits listing 1, which event 2 withdrew/,
  ],
  ['an edit after the removal', [lists(1), removes(1), edits(1)], /event 3 edits listing 1, which event 2 removed/],
  ['other goods for the same money', [lists(1), exchanges(1)], /event 2 exchanges what listing 1 sells for money/],
  [
    'another title for the same money',
    [lists(1), edits(1, { fields: ['title'] })],
    /event 2 exchanges what listing 1 sells/,
  ],
  ['another price', [free(1), edits(1, { fields: ['price_usdc'] })], /event 2 edits price or wallet of listing 1/],
  ['another wallet', [lists(1), edits(1, { seller_wallet: WALLET })], /event 2 edits price or wallet of listing 1/],
  ['another thing', [thing(1), edits(1)], /event 2 edits listing 1, a thing of the city/],
  [
    'other goods without a commitment',
    [free(1), edits(1, { fields: ['artifact'] })],
    /event 2 exchanges the goods of listing 1 without/,
  ],
  [
    'free goods given away after the removal',
    [free(1), removes(1), gives(1)],
    /event 3 gives listing 1 away, which event 2 removed/,
  ],
  [
    'a thing sold twice',
    [thing(1), act('world_sale')(1), act('world_sale')(1)],
    /event 3 sells the thing of listing 1, which event 2 sold/,
  ],
  ['an id that is listed twice', [lists(1), lists(1)], /event 2 lists listing 1 again, which event 1 listed/],
  ['a sale before its listing', [sells(1), lists(1)], /event 2 lists listing 1, of which event 1 told before/],
  [
    'a listing without a wallet',
    [lists(1), lists(2, { seller_wallet: undefined })],
    /event 2 lists listing 2 without a wallet$/,
  ],
  [
    'a listing without wallet and goods',
    [lists(1), vague(2)],
    /event 2 lists listing 2 without a wallet, a commitment to its goods$/,
  ],
  ['a listing without a price', [lists(1, { price_usdc: undefined })], /event 1 lists listing 1 without a price$/],
  ['a wallet that is none', [lists(1, { seller_wallet: '0x12' })], /event 1 names "0x12", which is no wallet/],
  ['goods that are no hash', [lists(1, { artifact_commitment: 5 })], /event 1 names 5, which is no commitment/],
  ['a price that is none', [lists(1, { price_usdc: '2\n' })], /event 1 names "2\\n", which is no price/],
  [
    'an id that is none',
    [lists(1), sells('1\u001b[2J' as never)],
    /event 2 tells of "1\\u001b\[2J", which is no number/,
  ],
  [
    'goods that end like a thing of a city',
    [lists(1), act('world_canceled')(1)],
    /^event 2 is a world_canceled of listing 1, which is no thing of a city$/,
  ],
  [
    'goods that are sold like a thing of a city',
    [lists(1), act('world_sale')(1)],
    /^event 2 is a world_sale of listing 1, which is no thing/,
  ],
  [
    'a thing that is sold as goods',
    [thing(1), sells(1), sells(1)],
    /event 2 sells listing 1, a thing of the city, as if/,
  ],
  [
    'a log that promises nothing but prices',
    [vague(1), vague(2)],
    /^no event promises a wallet or goods: 2 listings .*--since/,
  ],
];

describe('the log of an honest market', () => {
  it.each(HONEST)('has no fault for %s', (_name, events) => {
    expect(faultsOf(events)).toEqual([]);
  });
});

describe('a log against the rules of a market', () => {
  it.each(LYING)('has a fault for %s', (_name, events, fault) => {
    expect(faultsOf(events).join('\n')).toMatch(fault);
  });
});

it('counts what promises only a price, and with --since has each as a fault from there', () => {
  const events = [vague(1), vague(2), lists(3)];
  expect(judge(events).promises.priceOnly()).toBe(2);
  expect(faultsOf(events, 2)).toEqual([expect.stringMatching(/^event 2 lists listing 2 without/)]);
  expect(faultsOf([vague(1)], 2)).toEqual([]);
});

it('lets an upgrade take a day in which both programs list, and no longer', () => {
  const upgrade = [vague(1), lists(2), vague(3), lists(4), vague(5)];
  expect(judge(upgrade)).toMatchObject({ faults: [] });
  expect(judge(upgrade).promises.since()).toBeNull();
  const slow = judge(upgrade, null, 13 * HOUR);
  expect(slow.faults).toEqual([expect.stringMatching(/^event 5 lists listing 5 without/)]);
  expect(slow.promises.since()).toBe(4);
  // There was no upgrade unless an earlier event promises less.
  expect(judge(upgrade.slice(1)).faults).toHaveLength(2);
});

it.each([
  ['years back', '2020-01-01T00:00:00.000Z', '2020-01-01T00:00:00.000Z', '2026-02-05T12:00:00.000Z'],
  ['years ahead', '2100-01-01T00:00:00.000Z', '2100-01-01T00:00:00.000Z', null],
  ['ahead and then back', '2100-01-01T00:00:00.000Z', '2026-01-05T12:00:00.000Z', null],
])('has no day for an upgrade in a log whose clock stands %s', (_name, then, after, between) => {
  const promises = createPromises({ since: null });
  const take = (id: number, at: string, [kind, detail]: Told): string[] =>
    promises.take(`event ${id}`, { id, kind, at, actor: 'x', detail });
  expect([take(1, then, vague(1)), take(2, then, lists(2))]).toEqual([[], []]);
  if (between !== null) expect(take(3, between, sells(1))).toEqual([]);
  expect(take(4, after, vague(3))).toEqual([expect.stringMatching(/^event 4 lists listing 3 without/)]);
});

it('has nobody but the maintainer list without a fee and moderate, and nobody but its merchant edit and withdraw', () => {
  const promises = createPromises({ since: null, maintainer: 'keeper' });
  const take = (actor: string, kind: string, detail: EventDetail): string[] =>
    promises.take('event 1', { id: 1, kind, at: '2026-01-05T12:00:00.000Z', actor, detail });
  const seed = { listing_id: 2, ...WHOLE };
  expect(take('somebody', ...lists(1))).toEqual([]);
  expect(take('keeper', 'maintainer_seed', seed)).toEqual([]);
  expect(take('keeper', ...removes(1))).toEqual([]);
  expect(take('keeper', ...restores(1))).toEqual([]);
  expect(take('somebody', ...edits(1))).toEqual([]);
  expect(take('keeper', ...edits(1))).toEqual([
    expect.stringMatching(/listing_edit of listing 1 by "keeper", and its/),
  ]);
  expect(take('keeper', ...withdraws(1))).toEqual([expect.stringMatching(/withdrawal of listing 1 by "keeper"/)]);
  expect(take('somebody', ...withdraws(1))).toEqual([]);
  expect(take('somebody', ...removes(2))).toEqual([expect.stringMatching(/moderates as "somebody", and the market/)]);
  expect(take('somebody', 'maintainer_seed', { ...seed, listing_id: 3 })).toEqual([
    expect.stringMatching(/lists without a fee as "somebody", and the market names "keeper"/),
  ]);
});

it('keeps a removal whatever else ends the listing, until it is taken back', () => {
  const removed = (events: readonly Told[]) => judge(events).promises.of.get(1)?.removed;
  expect(removed([lists(1), removes(1), act('world_canceled')(1), withdraws(1)])).toMatchObject({ name: 'event 2' });
  expect(removed([lists(1), removes(1), restores(1)])).toBeNull();
  // An appeal does not restore a thing that was canceled.
  const gone = [thing(1), removes(1), act('world_canceled')(1), restores(1)];
  expect(judge(gone).promises.of.get(1)?.ending?.act).toBe('canceled');
});

it('leaves earlier promises as they are where it goes on from them for a while', () => {
  const { promises } = judge([free(1), free(2)]);
  const later = createPromises({ since: Infinity, before: promises.of });
  const take = (kind: string, detail: EventDetail): string[] =>
    later.take('event 3', { id: 3, kind, at: '2026-01-05T12:00:00.000Z', actor: 'somebody', detail });
  expect([take(...exchanges(1)), take(...removes(1)), take('comment', { listing_id: 2 })]).toEqual([[], [], []]);
  expect(take(...edits(1))).toEqual([expect.stringMatching(/which event 3 removed/)]);
  expect([...later.of.keys()]).toEqual([1]);
  expect(later.of.get(1)).toMatchObject({ commitment: OTHER, ending: { act: 'removed' } });
  expect(promises.of.get(1)).toMatchObject({ commitment: HASH, ending: null });
});

it('does not let the log turn back in time', () => {
  const promises = createPromises({ since: null });
  const take = (id: number, day: number, [kind, detail]: Told): string[] =>
    promises.take(`event ${id}`, { id, kind, at: new Date(BEGUN + day * 24 * HOUR).toISOString(), actor: 'x', detail });
  expect([take(1, 0, vague(1)), take(2, 1, lists(2)), take(3, 3, ['flag', {}])]).toEqual([[], [], []]);
  expect(take(4, 1, vague(3))).toEqual([expect.stringMatching(/^event 4 lists listing 3 without/)]);
});

it('goes on from what an audit before has read', () => {
  const { promises } = judge([lists(1), sells(1), free(2), removes(2)]);
  const later = createPromises({ since: 1, earlier: [...promises.of] });
  const take = (kind: string, detail: EventDetail): string[] =>
    later.take('event 9', { id: 9, kind, at: '2026-01-05T12:00:00.000Z', actor: 'somebody', detail });
  expect(take(...edits(1))).toEqual([expect.stringMatching(/which event 2 sold before/)]);
  expect(take(...gives(2))).toEqual([expect.stringMatching(/which event 4 removed/)]);
  expect(take(...lists(1))).toEqual([expect.stringMatching(/again, which event 1 listed/)]);
});

it('holds goods against the last promise, however hex is spelled', () => {
  const { promises } = judge([free(1), exchanges(1)]);
  const promised = promises.of.get(1);
  if (promised === undefined) throw new Error('listing 1 is not known');
  const goods = { id: 1, units: '0', wallet: WALLET.toLowerCase(), commitment: OTHER };
  expect(faultsOfPromise(promised, goods)).toEqual([]);
  expect(faultsOfPromise(promised, { ...goods, commitment: HASH })).toHaveLength(1);
  expect(faultsOfPromise(promised, { ...goods, units: '1', wallet: OTHER })).toHaveLength(2);
});
