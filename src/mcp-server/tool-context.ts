import { createHash } from 'node:crypto';
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Hex } from 'viem';
import type { Policy } from '../agent/policy.ts';
import type { SellGoodsOptions } from '../agent/sell-goods.ts';
import type { SpendBook } from '../agent/spend-book.ts';
import type { SpendOptions } from '../agent/spend-options.ts';
import type { MarketWords } from '../contract/foreign-words.ts';
import { type OwnWords, ofSource, own } from '../contract/own-words.ts';
import { fenceText, UNTRUSTED_DATA } from '../contract/text.ts';
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
  /** A row of the table of errors, or a reason of this program. */
  reason: string;
  title: OwnWords;
  detail?: OwnWords;
  next_step?: OwnWords;
  /** The market's words on it. */
  market_says?: MarketWords;
  do_not_pay_again?: true;
  /** A file that it is about; a seller's text may be in its name. */
  file?: string;
  retry_after_seconds?: number;
}

/** What pays, under which limits, and where that is kept. */
export type WalletSession = Pick<SpendOptions, 'wallet' | 'policy' | 'book' | 'readCode' | 'onNotice'>;

/** What the tools work with. The command hands it in: it knows the machine, its files and its variables. */
export interface ToolContext {
  /** Of the one market, without a key: a wallet is enough to buy. Its clock and timers are used here, too. */
  client: Client;
  /** The wallet as it is now, and the policy as it stands in its file now. Throws what `openWallet` and `readPolicy` throw. */
  openWalletSession(): Promise<WalletSession>;
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
  sayProgress(progress: Progress): OwnWords | null;
  /** Without secrets, and with characters that steer a terminal or turn text round spelled out. */
  clean(text: string): string;
  /** A line for the owner, on the standard error. */
  log(line: string): void;
  /** After so many seconds a tool answers that it waits still: hosts give up after 60. */
  patienceSeconds: number;
}

/** What a tool answers. */
export interface ToolAnswer {
  /** Our own words and numbers: never a text of a seller, nor a name or a path that is made of one. */
  said: readonly OwnWords[];
  data: Readonly<Record<string, unknown>>;
  /** A text of a market or a seller may stand in the data. */
  untrusted: boolean;
  isError?: true;
}

type Cleaner = Pick<ToolContext, 'clean'>;

/** Data for programs, and the same as text for hosts that show a model nothing else: fenced where sellers' words are in it. */
export function toolResult({ clean }: Cleaner, { said, data, untrusted, isError }: ToolAnswer): CallToolResult {
  const plain = cleanValue(data, clean) as Record<string, unknown>;
  const json = JSON.stringify(plain);
  const lines = said.map((line) => clean(line).replaceAll('\n', ' '));
  return {
    content: [{ type: 'text', text: [...lines, untrusted ? fenceText(json, sha256) : json].join('\n') }],
    // The text has its fence; data is all that some hosts show.
    structuredContent: untrusted ? { untrusted: UNTRUSTED_DATA, ...plain } : plain,
    ...(untrusted ? { _meta: { [META.untrusted]: true } } : {}),
    ...(isError === true ? { isError } : {}),
  };
}

function cleanValue(value: unknown, clean: (text: string) => string): unknown {
  if (typeof value === 'string') return clean(value);
  if (Array.isArray(value)) return value.map((one) => cleanValue(one, clean));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [clean(name), cleanValue(one, clean)]));
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
  const again = own`Call ${ofSource(tool)} again with the same arguments: it goes on with the same payment, and pays nothing twice.`;
  if (error instanceof PaymentUndecided)
    return {
      said: [own`Still waiting for the payment to be final. ${again}`],
      data: { status: 'waiting', do_not_pay_again: true, next_step: again },
      untrusted: false,
    };
  const trouble = await context.troubleOf(error);
  const { status, reason, title, detail, next_step, market_says, do_not_pay_again, file } = trouble;
  return {
    said: [
      own`${VERDICTS[status]} (${ofSource(reason)}): ${title}.`,
      ...(detail === undefined ? [] : [detail]),
      ...(do_not_pay_again === true ? [own`Do not pay again.`] : []),
      ...(next_step === undefined ? [] : [own`Next: ${next_step}`]),
    ],
    data: { ...trouble },
    untrusted: market_says !== undefined || file !== undefined,
    isError: true,
  };
}

const VERDICTS = { refused: own`Refused`, wrong_use: own`Not done`, unknown: own`Outcome unknown` } as const;
