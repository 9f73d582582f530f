import { MarketError } from '../../sdk/market-error.ts';
import type { Connect } from '../cli.ts';

export interface Owner {
  merchantId: number;
  handle: string;
}

/** Standing without its long lists. */
export const SHORT_STANDING = {
  listings_limit: '1',
  sales_limit: '1',
  purchases_limit: '1',
  replies_limit: '1',
} as const;

/** Whose key it is; null when the market does not take it. */
export async function findOwner(connect: Connect, key: string): Promise<Owner | null> {
  try {
    const { merchant } = (await connect(key).getMe({ query: SHORT_STANDING })).body;
    return { merchantId: merchant.id, handle: merchant.handle };
  } catch (error) {
    if (error instanceof MarketError && error.reason === 'key_invalid') return null;
    throw error;
  }
}
