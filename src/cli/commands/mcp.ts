import { realpath } from 'node:fs/promises';
import { isAbsolute, relative, resolve } from 'node:path';
import { configFolder, dataFolder } from '../../agent/folders.ts';
import { defaultWalletFile, openWallet } from '../../agent/open-wallet.ts';
import { readPolicy } from '../../agent/policy.ts';
import { codeReader } from '../../agent/read-chain.ts';
import { ofOwner, own } from '../../contract/own-words.ts';
import type { ToolContext, Trouble } from '../../mcp-server/tool-context.ts';
import type { Client } from '../../sdk/client.ts';
import { MarketError } from '../../sdk/errors.ts';
import { type Cli, type Command, type CommandOutput, connectTo } from '../cli.ts';
import { toCliError, wrongUse } from '../cli-error.ts';
import { openAccount, refusalOf, requiredMarket } from '../open-account.ts';
import { bookOf, progressLine, toPaymentError, walletAddress } from '../open-wallet-session.ts';
import { hideSecrets } from '../printable.ts';
import { readGoods } from '../read-goods.ts';

async function serveMcp(cli: Cli): Promise<CommandOutput> {
  const { note } = cli;
  const context = toolContextOf(cli);
  await mustKeepSecretsApart(cli);
  // Loaded on demand: the library takes longer to load than most commands take to run.
  const { serveTools } = await import('../../mcp-server/serve-tools.ts');
  note(`serving tools for ${context.client.baseUrl} on standard input and output`);
  await serveTools(context, { until: cli.interruption() });
  return { lines: [], json: null };
}

export const mcp: Command = {
  name: 'mcp',
  summary: 'serves a model tools to search, buy under the policy and sell, over standard input and output',
  positionals: [],
  options: ['wallet', 'policy', 'dir', 'rpc', 'handle', 'file', 'sell-from', 'market-calls-itself'],
  // Standard output carries the protocol.
  without: ['json'],
  examples: [
    'openaisle mcp --market https://market.example',
    'openaisle mcp --market https://market.example --wallet agent.json --policy agent-policy.json --sell-from outbox',
  ],
  run: serveMcp,
};

/** A model may sell any file in the folder of --sell-from, so no key, policy or proof may be in it, now or later. */
async function mustKeepSecretsApart({ options, env }: Cli): Promise<void> {
  const folder = options['sell-from'];
  if (folder === undefined) return;
  const sold = await realpath(folder);
  const files = [options.wallet ?? defaultWalletFile(env), options.file, options.policy];
  const secret = [configFolder(env), dataFolder(env), ...files].filter((path) => path !== undefined);
  for (const path of secret) {
    const full = await realpath(path).catch(() => resolve(path));
    if (isWithin(full, sold) || isWithin(sold, full))
      throw wrongUse(
        own`--sell-from ${ofOwner(folder)} overlaps ${ofOwner(path)}: a model could sell your secrets`,
        own`Use a separate folder for files that may be sold.`,
        'file_not_allowed',
      );
  }
}

function isWithin(path: string, folder: string): boolean {
  const inside = relative(folder, path);
  return !isAbsolute(inside) && inside.split(/[\\/]/)[0] !== '..';
}

/** Tools answer before hosts give up, which happens after 60 seconds. */
const PATIENCE_SECONDS = 45;

export function toolContextOf(cli: Cli): ToolContext {
  const { options, env, note } = cli;
  const market = requiredMarket(cli);
  const policyNow = () => readPolicy(env, options.policy);
  const rpcUrl = options.rpc ?? env['OPENAISLE_RPC'];
  const wallet = openOnce(() => openWallet({ file: options.wallet, env }));
  return {
    client: connectTo(cli, market)(),
    openWalletSession: async () => {
      const opened = await wallet();
      const book = bookOf(cli, opened.address);
      return { wallet: opened, policy: await policyNow(), book, onNotice: note, ...codeReader(rpcUrl) };
    },
    readPolicy: policyNow,
    openBook: (address) => bookOf(cli, address),
    walletAddress: () => walletAddress(cli),
    callAsMerchant: (work) => asMerchantOf(cli, market, work),
    merchantHandle: async () => (await accountAt(cli, market)).content?.handle ?? '',
    folder: dataFolder(env),
    goodsFolder: options.dir,
    sellFrom: options['sell-from'] ?? null,
    readGoods,
    rpcUrl,
    troubleOf: (error) => troubleOf(cli, error),
    sayProgress: progressLine,
    clean: hideSecrets,
    log: note,
    patienceSeconds: PATIENCE_SECONDS,
  };
}

/** Caches the result, because unlocking a keystore takes seconds. Failures aren't cached, because the owner may fix the cause. */
function openOnce<T>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | null = null;
  return async () => {
    opened ??= open();
    try {
      return await opened;
    } catch (error) {
      opened = null;
      throw error;
    }
  };
}

async function accountAt(cli: Cli, market: string) {
  const account = await openAccount(cli);
  if (account.market === market) return account;
  throw wrongUse(own`The merchant’s file is for ${ofOwner(account.market)}, but this server is for ${ofOwner(market)}`);
}

async function asMerchantOf<T>(cli: Cli, market: string, work: (client: Client) => Promise<T>): Promise<T> {
  const account = await accountAt(cli, market);
  try {
    return await work(connectTo(cli, market)(account.key));
  } catch (error) {
    // Other errors are rethrown unchanged, because callers distinguish waiting from failing by the class.
    if (error instanceof Error && 'reason' in error && error.reason === 'key_invalid') throw refusalOf(error, account);
    throw error;
  }
}

/** Replaces the market's advice to send a transfer, for which a model has no tool. */
const X402_ONLY = own`Nothing was paid. These tools pay by x402 only; the owner can buy this with a transfer.`;

async function troubleOf(cli: Cli, error: unknown): Promise<Trouble> {
  const address = await walletAddress(cli).catch(() => null);
  const lacksFunds = error instanceof MarketError && error.reason === 'insufficient_funds';
  // Only the owner may allow a second payment for the same goods, not a model.
  const again = lacksFunds ? own`this tool` : own`openaisle wait`;
  const { trouble, parts } = address === null ? toCliError(error) : toPaymentError(error, { address }, again);
  const { reason, title, detail, file, retryAfterSeconds } = parts;
  const isByTransfer = reason === 'x402_not_offered';
  const nextStep = isByTransfer ? X402_ONLY : parts.nextStep;
  const { next_step: advice, ...marketTexts } = parts.market ?? {};
  const market = isByTransfer || advice === undefined ? marketTexts : { ...marketTexts, next_step: advice };
  return {
    ...{ status: trouble, reason, title },
    ...(detail === undefined ? {} : { detail }),
    ...(nextStep === undefined ? {} : { next_step: nextStep }),
    ...(Object.keys(market).length === 0 ? {} : { market_says: market }),
    ...(parts.doNotPayAgain === true ? { do_not_pay_again: true } : {}),
    ...(file === undefined ? {} : { file }),
    ...(retryAfterSeconds == null ? {} : { retry_after_seconds: retryAfterSeconds }),
  };
}
