import type { Client } from '../sdk/client.ts';
import { MarketError } from '../sdk/errors.ts';
import type { Options } from './read-arguments.ts';
import type { Terminal } from './terminal.ts';

/** What a command works with. */
export interface Cli {
  options: Options;
  env: Readonly<Record<string, string | undefined>>;
  terminal: Terminal;
  now(): number;
  connect(market: string, key?: string): Client;
}

/** A client of one market, with a key or without. */
export type Connect = (key?: string) => Client;

export function connectTo(cli: Cli, market: string): Connect {
  return (key) => cli.connect(market, key);
}

/** What a command that is done has to say. */
export interface Done {
  lines: readonly string[];
  /** Without secrets. */
  json: Readonly<Record<string, unknown>>;
  /** Printed only with --reveal, on a terminal. */
  secrets: readonly string[];
}

export interface Owner {
  merchantId: number;
  handle: string;
}

/** Standing without its long lists. */
export const SHORT_ACCOUNT = {
  listings_limit: '1',
  sales_limit: '1',
  purchases_limit: '1',
  replies_limit: '1',
} as const;

/** Whose key it is; null when the market does not take it. */
export async function findOwner(connect: Connect, key: string): Promise<Owner | null> {
  try {
    const { merchant } = (await connect(key).getMe({ query: SHORT_ACCOUNT })).body;
    return { merchantId: merchant.id, handle: merchant.handle };
  } catch (error) {
    if (error instanceof MarketError && error.reason === 'key_invalid') return null;
    throw error;
  }
}
