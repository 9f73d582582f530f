import type { Market } from '../../context.ts';

/** What a command works with: the market's configuration, without a market. */
export type CommandMarket = Pick<Market, 'config' | 'database' | 'clock' | 'log' | 'providers'>;
