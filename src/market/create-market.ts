import { endpoints } from '../contract/index.ts';
import { USDC_DECIMALS } from '../contract/vocabulary.ts';
import { domainSeparatorOf } from '../platform/chain/authorization.ts';
import { readChainId } from '../platform/chain/reads.ts';
import { createRpc, RpcFailure } from '../platform/chain/rpc.ts';
import { readDecimals, readDomainSeparator } from '../platform/chain/usdc-reads.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/database/database.ts';
import { createHttpServer, type HttpServer } from '../platform/http/create-http-server.ts';
import type { Log } from '../platform/log.ts';
import type { Random } from '../platform/random.ts';
import type { CrashPoint, Market, MarketConfig, Pepper } from './context.ts';
import { createSequencer } from './events/sequencer.ts';
import { authenticate } from './identity/authenticate.ts';
import { retiredFlow } from './identity/retired-flow.ts';
import { completeFee } from './listings/complete-fee.ts';
import { marketOperations } from './operations.ts';
import { createPages } from './pages/create-pages.ts';
import { refreshSigners } from './payments/facilitator/refresh-signers.ts';
import { createPayments, type Payments } from './payments/payments.ts';
import { completePurchase } from './purchases/complete-purchase.ts';
import { refuseUnreadable } from './refuse-unreadable.ts';

export interface MarketOptions {
  config: MarketConfig;
  database: Database;
  clock: Clock;
  random: Random;
  log: Log;
  pepper: Pepper;
  /** How often the background pass looks at undecided payments. */
  reconcileEveryMs?: number;
  crashPoint?: (name: CrashPoint) => void;
}

export interface RunningMarket {
  market: Market;
  payments: Payments;
  http: HttpServer;
  /** Checks chain and token, then serves. */
  start(): Promise<{ url: string; port: number }>;
  /** Stops accepting, answers what is in flight for that long, then ends the background work. The database stays open. */
  stop(options: { drainMs: number }): Promise<void>;
  /** Resolves when every event committed so far is numbered. */
  eventsSettled(): Promise<void>;
}

/** Puts the market together: the only place that knows all of its parts. */
export function createMarket(options: MarketOptions): RunningMarket {
  const { config, database, clock, random, log, pepper } = options;
  const sequencer = createSequencer({ database, clock, log });
  const market: Market = {
    config,
    database,
    clock,
    random,
    log,
    pepper,
    rpc: createRpc({ url: config.rpcUrl }),
    wakeEvents: () => sequencer.wake(),
    crashPoint: options.crashPoint ?? (() => {}),
  };
  const completions = { purchase: completePurchase(market), listing_fee: completeFee(market) };
  const payments = createPayments(market, completions, { reconcileEveryMs: options.reconcileEveryMs ?? 1_000 });
  const http = createHttpServer({
    endpoints,
    operations: marketOperations(payments),
    context: market,
    authenticate: (bearer) => authenticate(market, bearer),
    isMaintainer: (merchant) => merchant.maintainer,
    callerId: (merchant) => merchant.id,
    log,
    clock,
    random,
    docsUrl: (reason) => `${config.baseUrl}/docs/errors/${reason}`,
    secretPrefixes: [config.keyPrefix],
    trustProxy: config.trustProxy,
    classifyError: refuseUnreadable,
    preSchema: { register: retiredFlow },
    pages: createPages(market, payments.readHead),
  });
  return {
    market,
    payments,
    http,
    start: async () => {
      await checkChain(market);
      if (!(await refreshSigners(market))) log.warn('facilitator_silent_at_start', { url: config.facilitatorUrl });
      sequencer.start();
      payments.reconciler.start();
      return await http.listen({ host: config.host, port: config.port });
    },
    stop: async ({ drainMs }) => {
      await http.close({ drainMs });
      await payments.reconciler.stop();
      await sequencer.stop();
    },
    eventsSettled: () => sequencer.settled(),
  };
}

/** A market on the wrong chain, or with another token, would believe payments that are none. */
async function checkChain(market: Market): Promise<void> {
  try {
    await checkNetwork(market);
  } catch (error) {
    // Reads must be served while the chain is away; each payment asks for the chain id again before it is decided.
    if (!(error instanceof RpcFailure)) throw error;
    market.log.warn('chain_unreadable_at_start', { error });
  }
}

async function checkNetwork({ rpc, config }: Market): Promise<void> {
  const { network } = config;
  const chainId = await readChainId(rpc);
  if (chainId !== network.chainId) {
    throw new Error(`OPENAISLE_RPC_URLS: the node is on chain ${chainId}, not on ${network.chainId} (${network.name})`);
  }
  const [decimals, separator] = await Promise.all([
    readDecimals(rpc, network.usdc),
    readDomainSeparator(rpc, network.usdc),
  ]);
  const wanted = domainSeparatorOf({
    name: network.domainName,
    version: network.domainVersion,
    chainId: network.chainId,
    verifyingContract: network.usdc,
  });
  if (decimals !== USDC_DECIMALS || separator !== wanted) {
    throw new Error('OPENAISLE_USDC_ADDRESS: the contract there is not the native USDC of the network');
  }
}
