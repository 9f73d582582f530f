import { html } from 'ghtml';
import { HANDLE_PATTERN } from '../../../contract/identity.ts';
import { EVENT_KINDS, type EventKind } from '../../../contract/vocabulary.ts';
import type { EventRecord } from '../../events/read-events.ts';
import { renderMark, storePath } from '../storefront/render-rows.ts';
import { cleanText, showPrice } from '../storefront/render-text.ts';

interface KindWords {
  /** Name for all events of this kind. */
  name: string;
  /** Phrase that follows the actor's name; `%` stands for the target. */
  says: string;
}

/** Phrases for every kind of event. The window's script gets them from the page, so there is only one table. */
export const KIND_WORDS: Readonly<Record<EventKind, KindWords>> = {
  register: { name: 'New stores', says: 'opened a store' },
  rotate: { name: 'Rotated keys', says: 'replaced the key of the store' },
  recover: { name: 'Recovered stores', says: 'recovered the store with a code' },
  listing: { name: 'New listings', says: 'put % on the shelves' },
  maintainer_seed: {
    name: 'Listings of the maintainer',
    says: 'put % on the shelves as the maintainer, without the fee',
  },
  listing_edit: { name: 'Edits', says: 'edited %' },
  withdrawal: { name: 'Withdrawals', says: 'withdrew %' },
  sale: { name: 'Sales', says: 'bought %' },
  comment: { name: 'Comments', says: 'commented on %' },
  flag: { name: 'Flags', says: 'flagged %' },
  moderation: { name: 'Acts of the maintainer', says: 'used a power of the maintainer on %' },
  appeal: { name: 'Appeals', says: 'appealed against the removal of %' },
  review: { name: 'Reviewed payments', says: 'decided in review on %' },
  world_sale: { name: 'Sales of the city', says: 'bought % in the city' },
  world_canceled: { name: 'Offers taken back in the city', says: 'took % off the market' },
  recovery: { name: 'Recoveries of lost history', says: 'recovered a history of which a part was lost' },
};

/** Phrases by kind, action and outcome, for kinds that cover several actions. */
const ACTION_WORDS: Readonly<Record<string, string>> = {
  'moderation.remove': 'removed %',
  'moderation.erase': 'erased the goods of %',
  'moderation.remove_comment': 'emptied a comment on %',
  'moderation.remove_store_line': 'emptied the store line of %',
  'moderation.remove_statement': 'emptied the statement of an appeal on %',
  'moderation.pin': 'pinned %',
  'moderation.unpin': 'unpinned %',
  'moderation.decide_appeal.restored': 'granted an appeal and restored %',
  'moderation.decide_appeal.removal_upheld': 'refused an appeal: the removal of % stands',
  'moderation.fee_review': 'decided on a listing fee in review',
};

/** Actors of events that the log attributes to `system`. */
const SYSTEM_ACTORS: Readonly<Partial<Record<EventKind, string>>> = {
  sale: 'A wallet without an account',
  world_canceled: 'The city',
  recovery: 'The operator',
};
const UNKNOWN_ACTOR = 'Someone';

const HANDLE = new RegExp(HANDLE_PATTERN);

/** The phrases and actors above, for the window's script, which renders new rows itself. */
export const SCRIPT_WORDS = {
  says: { ...Object.fromEntries(EVENT_KINDS.map((kind) => [kind, KIND_WORDS[kind].says])), ...ACTION_WORDS },
  systemActors: SYSTEM_ACTORS,
  unknownActor: UNKNOWN_ACTOR,
  handle: HANDLE_PATTERN,
};

type SaidEvent = Pick<EventRecord, 'kind' | 'actor' | 'detail'>;

/** Renders an event as HTML, with links to actor and target. The handle `maintainer` gets the maintainer's mark. */
export function renderEvent(event: SaidEvent, maintainer: string | null): string {
  const [before = '', after] = phraseOf(event).split('%');
  const what = after === undefined ? '' : html`!${renderTarget(event)}${after}`;
  return html`!${renderActor(event, maintainer)} ${before}!${what}${endingOf(event)}`;
}

/** Picks the most specific phrase: by action and outcome, by action alone, or by kind. */
export function phraseOf({ kind, detail }: Pick<SaidEvent, 'kind' | 'detail'>): string {
  const { action, outcome } = detail;
  for (const act of [`${kind}.${action}.${outcome}`, `${kind}.${action}`]) {
    const words = Object.hasOwn(ACTION_WORDS, act) ? ACTION_WORDS[act] : undefined;
    if (words !== undefined) return words;
  }
  return KIND_WORDS[kind].says;
}

function renderActor({ kind, actor }: SaidEvent, maintainer: string | null): string {
  if (actor === 'system') return html`${SYSTEM_ACTORS[kind] ?? UNKNOWN_ACTOR}`;
  const name = html`<bdi>${cleanText(actor)}</bdi>`;
  if (!HANDLE.test(actor)) return name;
  return html`<a href="${storePath(actor)}">!${name}</a>!${renderMark({ maintainer: actor === maintainer })}`;
}

function renderTarget({ kind, detail }: SaidEvent): string {
  const listing = detail['listing_id'];
  if (isId(listing))
    return html`<a href="/listing/${listing}${kind === 'comment' ? '#comments' : ''}">listing ${listing}</a>`;
  for (const [field, name] of OTHER_TARGETS) {
    const id = detail[field];
    if (isId(id)) return html`${name} ${id}`;
  }
  return 'something';
}

const OTHER_TARGETS = [
  ['comment_id', 'comment'],
  ['merchant_id', 'merchant'],
  ['payment_id', 'payment'],
] as const;

function isId(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
}

function endingOf({ detail }: SaidEvent): string {
  const { paid_usdc: paid, price_usdc: price, reason_code: code } = detail;
  if (typeof paid === 'number') return paid === 0 ? ' free of charge' : ` for ${showPrice(paid)}`;
  if (typeof price === 'number') return price === 0 ? ' free of charge' : ` at ${showPrice(price)}`;
  return typeof code === 'string' ? `: ${code.replaceAll('_', ' ')}` : '';
}
