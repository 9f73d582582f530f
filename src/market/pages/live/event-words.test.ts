import { expect, it } from 'vitest';
import { readMarkup } from '../../../../test/support/read-markup.ts';
import { EVENT_KINDS, type EventKind } from '../../../contract/vocabulary.ts';
import { KIND_WORDS, phraseOf, renderEvent, SCRIPT_WORDS } from './event-words.ts';

const sentenceOf = (kind: EventKind, detail: Record<string, unknown>, actor = 'ink'): string =>
  readMarkup(renderEvent({ kind, actor, detail }, null)).text;

it('every kind of event has a name and words of its own, and the script has the same', () => {
  for (const kind of EVENT_KINDS) {
    expect(sentenceOf(kind, { listing_id: 7 })).toMatch(/^ink [a-z]/);
    expect(SCRIPT_WORDS.says).toMatchObject({ [kind]: KIND_WORDS[kind].says });
  }
  expect(new Set(EVENT_KINDS.map((kind) => KIND_WORDS[kind].name)).size).toBe(EVENT_KINDS.length);
});

it('an event is said with who, what, for how much and why', () => {
  const cases: [string, EventKind, Record<string, unknown>, string?][] = [
    ['ink opened a store', 'register', { merchant_id: 3 }],
    ['ink put listing 7 on the shelves at 2.50 USDC', 'listing', { listing_id: 7, price_usdc: 2.5 }],
    ['ink put listing 7 on the shelves free of charge', 'listing', { listing_id: 7, price_usdc: 0 }],
    ['ink bought listing 7 for 1,000.00 USDC', 'sale', { listing_id: 7, paid_usdc: 1000 }],
    ['A wallet without an account bought listing 7', 'sale', { listing_id: 7 }, 'system'],
    ['The city took listing 7 off the market', 'world_canceled', { listing_id: 7 }, 'system'],
    [
      'ink removed listing 7: merchant request',
      'moderation',
      { action: 'remove', listing_id: 7, reason_code: 'merchant_request' },
    ],
    [
      'ink erased the goods of listing 7: illegal',
      'moderation',
      { action: 'erase', listing_id: 7, reason_code: 'illegal' },
    ],
    [
      'ink emptied a comment on listing 7: spam',
      'moderation',
      { action: 'remove_comment', listing_id: 7, reason_code: 'spam' },
    ],
    [
      'ink emptied the store line of merchant 3: spam',
      'moderation',
      { action: 'remove_store_line', merchant_id: 3, reason_code: 'spam' },
    ],
    [
      'ink emptied the statement of an appeal on listing 7: policy',
      'moderation',
      { action: 'remove_statement', appeal_id: 5, listing_id: 7, merchant_id: 3, reason_code: 'policy' },
    ],
    ['ink pinned listing 7', 'moderation', { action: 'pin', listing_id: 7 }],
    ['ink unpinned listing 7', 'moderation', { action: 'unpin', listing_id: 7 }],
    [
      'ink granted an appeal and restored listing 7',
      'moderation',
      { action: 'decide_appeal', outcome: 'restored', listing_id: 7 },
    ],
    [
      'ink refused an appeal: the removal of listing 7 stands',
      'moderation',
      { action: 'decide_appeal', outcome: 'removal_upheld', listing_id: 7 },
    ],
    [
      'ink decided on a listing fee in review',
      'moderation',
      { action: 'fee_review', outcome: 'refunded', payment_id: 4 },
    ],
    ['ink used a power of the maintainer on listing 7', 'moderation', { action: '__proto__', listing_id: 7 }],
    ['ink flagged comment 5', 'flag', { target_type: 'comment', comment_id: 5 }],
    ['ink flagged merchant 2', 'flag', { target_type: 'merchant', merchant_id: 2 }],
    ['ink decided in review on payment 9', 'review', { payment_id: 9, outcome: 'declined' }],
  ];
  for (const [words, kind, detail, actor] of cases) expect(sentenceOf(kind, detail, actor)).toBe(words);
});

it('links lead to numbers and to handles that are some, and nowhere else', () => {
  const links = (actor: string, listing: unknown): string[] =>
    readMarkup(renderEvent({ kind: 'sale', actor, detail: { listing_id: listing } }, null)).tags.flatMap(
      ({ attributes }) => attributes.get('href') ?? [],
    );
  expect(links('ink-2', 7)).toEqual(['/store/ink-2', '/listing/7']);
  for (const actor of ['../x', 'Ink', 'javascript:alert(1)', '"><b>', '']) {
    for (const listing of ['7', -1, 1.5, null, '7"><b>', Number.NaN]) expect(links(actor, listing)).toEqual([]);
  }
  expect(phraseOf({ kind: 'sale', detail: { action: 'constructor' } })).toBe('bought %');
});
