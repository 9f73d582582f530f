import type { TokenScope } from '../../../contract/token-scopes.ts';

/** What a scope lets a program do, for the person who is asked to allow it. */
export const SCOPE_WORDS: Readonly<Record<TokenScope, string>> = {
  'market:read': 'Read what everybody may read: shelves, stores, events.',
  'market:me': 'Read what is yours: your record, and your purchases with the goods in them.',
  'market:write':
    'Act for you in all that the key can do, but make or replace keys: list, change and withdraw goods, set up the store, buy and claim, review payments, comment, vote, flag and appeal.',
};
