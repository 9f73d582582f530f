import { createHash } from 'node:crypto';
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Hex } from 'viem';
import type { Policy } from '../agent/policy.ts';
import type { SellGoodsOptions } from '../agent/sell-goods.ts';
import type { SpendBook } from '../agent/spend-book.ts';
import type { SpendOptions } from '../agent/spend-options.ts';
import { fenceText } from '../contract/text.ts';
import { META } from '../contract/tools.ts';
import type { Client } from '../sdk/client.ts';
import { PaymentUndecided, type Progress } from '../sdk/payments/payment-run.ts';

/** Fields of a listing that say what its goods are, read from a file. */
export interface ReadGoods {
  fields: Pick<
    SellGoodsOptions['listing'],
    'artifact' | 'artifact_encoding' | 'artifact_media_type' | 'artifact_filename'
  >;
  /** What a person should know of how they were read. */
  notes: readonly string[];
}

/** Why something was not done, in words that may be shown to a model: no secret, no cause of a library. */
export interface Trouble {
  /** `unknown`: it may have been done. */
  status: 'refused' | 'wrong_use' | 'unknown';
  reason: string;
  title: string;
  detail?: string;
  /** The market's words, where `advice` is missing. */
  next_step?: string;
  /** Our own words for what to do next, the same as `next_step`. */
  advice?: string;
  do_not_pay_again?: true;
  /** A file that it is about; a seller's text may be in its name. */
  file?: string;
  retry_after_seconds?: number;
}

/** What pays, under which limits, and where that is kept. */
export type Purse = Pick<SpendOptions, 'wallet' | 'policy' | 'book' | 'readCode' | 'onNotice'>;

/** What the tools work with. The command hands it in: it knows the machine, its files and its variables. */
export interface ToolContext {
  /** Of the one market, without a key: a wallet is enough to buy. Its clock and timers are used here, too. */
  client: Client;
  /** The wallet as it is now, and the policy as it stands in its file now. Throws what `openWallet` and `readPolicy` throw. */
  openPurse(): Promise<Purse>;
  /** As it stands in its file now. */
  readPolicy(): Promise<Policy>;
  /** For looking: no key is needed. */
  openBook(address: Hex): SpendBook;
  /** The wallet's address, without its passphrase where that is possible. */
  walletAddress(): Promise<Hex>;
  /** Calls the market with the merchant's key. Throws `no_identity` where there is none. */
  asMerchant<T>(work: (client: Client) => Promise<T>): Promise<T>;
  /** Who sells here; throws `no_identity` where there is no merchant. */
  merchantHandle(): Promise<string>;
  /** Where bought goods go; undefined: the usual folder of the book. */
  goodsFolder: string | undefined;
  /** The only folder that `sell` reads files from; null: none. */
  sellFrom: string | null;
  readGoods(path: string, mediaType: string | undefined): Promise<ReadGoods>;
  /** An RPC endpoint of the chain; undefined: the chain is not asked. */
  rpcUrl: string | undefined;
  /** Any error in words. */
  troubleOf(error: unknown): Promise<Trouble>;
  /** Null: there is nothing to say. */
  sayProgress(progress: Progress): string | null;
  /** Without secrets, and without characters that steer a terminal or turn text round. */
  clean(text: string): string;
  /** A line for the owner, on the standard error. */
  log(line: string): void;
  /** After so many seconds a tool answers that it waits still: hosts give up after 60. */
  patienceSeconds: number;
}

/** What a tool answers. */
export interface ToolAnswer {
  /** Our own words and numbers: never a text of a seller, nor a name or a path that is made of one. */
  said: readonly string[];
  data: Readonly<Record<string, unknown>>;
  /** A seller's text may stand in the data. */
  untrusted: boolean;
  isError?: true;
}

type Cleaner = Pick<ToolContext, 'clean'>;

/** Data for programs, and the same as text for hosts that show a model nothing else: fenced where sellers' words are in it. */
export function toolResult({ clean }: Cleaner, { said, data, untrusted, isError }: ToolAnswer): CallToolResult {
  const structuredContent = cleaned(data, clean) as Record<string, unknown>;
  const json = JSON.stringify(structuredContent);
  const lines = said.map((line) => clean(line).replaceAll('\n', ' '));
  return {
    content: [{ type: 'text', text: [...lines, untrusted ? fenceText(json, sha256) : json].join('\n') }],
    structuredContent,
    ...(untrusted ? { _meta: { [META.untrusted]: true } } : {}),
    ...(isError === true ? { isError } : {}),
  };
}

function cleaned(value: unknown, clean: (text: string) => string): unknown {
  if (typeof value === 'string') return clean(value);
  if (Array.isArray(value)) return value.map((one) => cleaned(one, clean));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, cleaned(one, clean)]));
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** How a call ends that is not done: waiting is no error, since the same call goes on. */
export async function answerOf(
  context: Pick<ToolContext, 'troubleOf'>,
  tool: string,
  error: unknown,
): Promise<ToolAnswer> {
  const again = `Call ${tool} again with the same arguments: it goes on with the same payment, and pays nothing twice.`;
  if (error instanceof PaymentUndecided)
    return {
      said: [`Still waiting for the payment to be final. ${again}`],
      data: { status: 'waiting', do_not_pay_again: true, next_step: again },
      untrusted: false,
    };
  const { advice, ...trouble } = await context.troubleOf(error);
  const verdict = { refused: 'Refused', wrong_use: 'Not done', unknown: 'Outcome unknown' }[trouble.status];
  // A title may hold the words of a market, of a seller, or the name of a file that a seller chose.
  const reason = REASON.test(trouble.reason) ? trouble.reason : 'refused';
  return {
    said: [
      `${verdict} (${reason}). Why stands in the data.`,
      ...(trouble.do_not_pay_again === true ? ['Do not pay again.'] : []),
      ...(advice === undefined ? [] : [`Next: ${advice}`]),
    ],
    data: { ...trouble },
    untrusted: true,
    isError: true,
  };
}

const REASON = /^[a-z][a-z0-9_]{0,59}$/;
