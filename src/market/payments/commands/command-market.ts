import type { Market } from '../../context.ts';

/** What a command works with: the market's configuration, without a market. */
export type CommandMarket = Pick<Market, 'config' | 'database' | 'clock' | 'log' | 'providers'>;

/** For the operator: what is in the way, in words. */
export class CommandRefused extends Error {
  override readonly name = 'CommandRefused';
}
