import { createHash } from 'node:crypto';
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Hex } from 'viem';
import { AgentError } from '../agent/agent-error.ts';
import type { GoodsFile } from '../agent/goods/goods-file.ts';
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

export interface ReadGoods {
  fields: Pick<SellGoodsOptions['listing'], 'artifact_media_type' | 'artifact_filename'>;
  file: GoodsFile;
  /** Messages for a person on how the goods were read. */
  notes: readonly string[];
}

/** Why something wasn't done, safe to show to a model: no secrets, no library messages. */
export interface Trouble {
  status: 'refused' | 'wrong_use' | 'unknown';
  /** Reason of the market's error table or of this program. */
  reason: string;
  title: OwnWords;
  detail?: OwnWords;
  next_step?: OwnWords;
  market_says?: MarketWords;
  do_not_pay_again?: true;
  /** The file concerned. Untrusted, because its name may contain a seller's text. */
  file?: string;
  retry_after_seconds?: number;
}

export type WalletSession = Pick<SpendOptions, 'wallet' | 'policy' | 'book' | 'readCode' | 'onNotice'>;

/** Everything that the tools need from the command that serves them: machine, files and variables. */
export interface ToolContext {
  /** Client of the one market, without a key, because buying needs only a wallet. Its clock and timers are used here too. */
  client: Client;
  /** Opens the wallet, and reads the policy anew. Throws what `openWallet` and `readPolicy` throw. */
  openWalletSession(): Promise<WalletSession>;
  readPolicy(): Promise<Policy>;
  /** Opens the book for reading; needs no key. */
  openBook(address: Hex): SpendBook;
  /** Reads the wallet's address, without its passphrase if possible. */
  walletAddress(): Promise<Hex>;
  /** Calls the market with the merchant's key. Throws `no_identity` if there is none. */
  callAsMerchant<T>(work: (client: Client) => Promise<T>): Promise<T>;
  /** Throws `no_identity` if there is no merchant. */
  merchantHandle(): Promise<string>;
  /** Folder of books, goods and uploads. */
  folder: string;
  /** Folder for bought goods. Undefined for the book's default. */
  goodsFolder: string | undefined;
  /** The only folder from which `sell` reads files. Null if there is none. */
  sellFrom: string | null;
  readGoods(path: string, mediaType: string | undefined): Promise<ReadGoods>;
  /** RPC endpoint. Undefined if the chain isn't checked. */
  rpcUrl: string | undefined;
  troubleOf(error: unknown): Promise<Trouble>;
  /** Returns null if there is nothing to report. */
  sayProgress(progress: Progress): OwnWords | null;
  /** Masks secrets, and spells out control and text-direction characters. */
  clean(text: string): string;
  /** Prints a line for the owner on standard error. */
  log(line: string): void;
  /** Seconds after which a tool answers that it is still waiting. Hosts give up after 60. */
  patienceSeconds: number;
}

export interface ToolAnswer {
  /** Our own words and numbers. Never a seller's text, nor a name or path derived from one. */
  said: readonly OwnWords[];
  data: Readonly<Record<string, unknown>>;
  /** True if the data may contain text by a market or a seller. */
  untrusted: boolean;
  isError?: true;
}

type Cleaner = Pick<ToolContext, 'clean'>;

/** Builds the result: structured data, and the same as text for hosts that show nothing else. Untrusted text is fenced. */
export function toolResult({ clean }: Cleaner, { said, data, untrusted, isError }: ToolAnswer): CallToolResult {
  const plain = cleanValue(data, clean) as Record<string, unknown>;
  const json = JSON.stringify(plain);
  const lines = said.map((line) => clean(line).replaceAll('\n', ' '));
  return {
    content: [{ type: 'text', text: [...lines, untrusted ? fenceText(json, sha256) : json].join('\n') }],
    // Some hosts show only the structured data, so it carries the warning too.
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

/** Converts an error to an answer. Waiting isn't an error, because the same call resumes. */
export async function answerOf(
  context: Pick<ToolContext, 'troubleOf'>,
  tool: string,
  error: unknown,
): Promise<ToolAnswer> {
  const again = own`Call ${ofSource(tool)} again with the same arguments: it resumes the same payment and pays nothing twice.`;
  if (error instanceof PaymentUndecided)
    return {
      said: [own`Still waiting for the payment to become final. ${again}`],
      data: { status: 'waiting', do_not_pay_again: true, next_step: again },
      untrusted: false,
    };
  if (error instanceof AgentError && error.parts.reason === 'goods_under_way') {
    const { title, doNotPayAgain } = error.parts;
    return {
      said: [own`Still sending or receiving goods. ${again}`],
      data: { status: 'waiting', goods: title, do_not_pay_again: doNotPayAgain ?? false, next_step: again },
      // The title has the name of a file.
      untrusted: true,
    };
  }
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
