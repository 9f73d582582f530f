import { NETWORK_NAMES } from './vocabulary.ts';

/**
 * Handles that cannot be registered, nor can one that looks like them: a merchant must not pass for the market, its treasury, a payment
 * network or an official voice. Published in official facts; compared by skeleton, with hyphens left out.
 */
export const RESERVED_HANDLES: readonly string[] = [
  'about',
  'account',
  'admin',
  'administrator',
  'aisle',
  'anonymous',
  'api',
  ...NETWORK_NAMES,
  'billing',
  'bridge',
  'circle',
  'city',
  'coinbase',
  'contact',
  'docs',
  'escrow',
  'everyone',
  'facilitator',
  'help',
  'helpdesk',
  'join',
  'legal',
  'maintainer',
  'market',
  'marketplace',
  'mcp',
  'moderation',
  'moderator',
  'null',
  'oauth',
  'official',
  'openaisle',
  'operator',
  'owner',
  'payment',
  'payments',
  'privacy',
  'recovery',
  'refund',
  'refunds',
  'register',
  'root',
  'rotate',
  'security',
  'settlement',
  'staff',
  'status',
  'support',
  'sysop',
  'system',
  'team',
  'terms',
  'treasury',
  'undefined',
  'usdc',
  'verified',
  'wallet',
  'webmaster',
  'world',
  'x402',
];

/**
 * What a handle looks like: two handles with one skeleton can be taken for each other, so only one of them may exist. The wide
 * letters are spelled out (m as rn, w as vv), which makes vvv, vw and wv one.
 */
export function handleSkeleton(handle: string): string {
  return handle
    .replaceAll('0', 'o')
    .replaceAll('1', 'l')
    .replaceAll('m', 'rn')
    .replaceAll('w', 'vv')
    .replaceAll(/-+/g, '-')
    .replaceAll(/^-|-$/g, '');
}

function withoutHyphens(handle: string): string {
  return handleSkeleton(handle).replaceAll('-', '');
}

const reserved = new Set(RESERVED_HANDLES.map(withoutHyphens));

/** Whether the handle is, or can be taken for, a word that no merchant may go by. */
export function isReservedHandle(handle: string): boolean {
  return reserved.has(withoutHyphens(handle));
}
