import { join } from 'node:path';
import { endpoints } from '../contract/index.ts';
import { checkNetworks, createProviders } from '../platform/chain/providers.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/database/database.ts';
import { type NotedDatabase, noteWrites } from '../platform/database/note-writes.ts';
import { createHttpServer, type HttpServer } from '../platform/http/create-http-server.ts';
import type { Log } from '../platform/log.ts';
import { historyLost, type LogCopyPlace } from '../platform/log-copy/place.ts';
import type { ObjectStore } from '../platform/object-store.ts';
import type { Random } from '../platform/random.ts';
import { createPruning } from './catalog/feed/store.ts';
import { createMarketCatalog, type MarketCatalog } from './catalog/market-catalog.ts';
import { type Connector, createConnector, type FetchDocument } from './connect/connector.ts';
import type { CrashPoint, Market, MarketConfig, Pepper } from './context.ts';
import type { Metrics } from './create-metrics.ts';
import { createEventTail } from './events/read-events.ts';
import { createSequencer, type Sequencer } from './events/sequencer.ts';
import { createEventStream, type EventStream } from './events/stream/event-stream.ts';
import { mountEventStream } from './events/stream/mount-event-stream.ts';
import { slotOptions } from './events/stream/slots.ts';
import type { GoodsFacts } from './goods/keeping/goods-facts.ts';
import { createGoodsPruning } from './goods/keeping/prune-goods.ts';
import { mountUploads } from './goods/uploads/mount-uploads.ts';
import { createUploadBudget } from './goods/uploads/upload-limits.ts';
import { authenticate } from './identity/authenticate.ts';
import { retiredFlow } from './identity/register.ts';
import { createBudgets } from './limits/budgets.ts';
import { limitMounts, limitOperations, limitProbes, MOUNT_MS } from './limits/limit-requests.ts';
import { completeFee } from './listings/fees/complete-fee.ts';
import { createFingerprintRenewal } from './listings/near/near-guard.ts';
import { createMcp } from './mcp/create-mcp.ts';
import { chainFacts, paymentsFacts } from './observe-chain.ts';
import { createReadFromMemory, marketOperations, type OperationDependencies } from './operations.ts';
import { createConnectPages } from './pages/connect/create-connect-pages.ts';
import { createPages } from './pages/create-pages.ts';
import { createPictures, type Pictures } from './pages/pictures/create-pictures.ts';
import { refusedPage, showConnectFault } from './pages/refusals.ts';
import { createStorefront } from './pages/storefront/create-storefront.ts';
import { createWalletPage } from './pages/storefront/create-wallet-page.ts';
import { createTreasuryPage } from './pages/treasury/create-treasury.ts';
import { refreshSigners } from './payments/paths/x402/facilitator.ts';
import { createPayments, type Payments } from './payments/payments.ts';
import { completePurchase } from './purchases/complete-purchase.ts';
import { mountDownloads } from './purchases/mount-downloads.ts';
import { createReadYourWrites } from './read-your-writes.ts';
import {
  createMarketHistory,
  guardHistory,
  guardMounts,
  type MarketHistory,
  refuseByDatabase,
  refuseLockedOut,
} from './recovery/guard-history.ts';
import { createThingFees } from './world/drafts/list-world.ts';
import { createWorldSyncJob } from './world/sync/world-sync-job.ts';

export interface MarketOptions {
  config: MarketConfig;
  database: Database;
  clock: Clock;
  random: Random;
  log: Log;
  pepper: Pepper;
  /** Keeps the bytes of uploaded goods. Omitted: the database does. */
  objectStore?: ObjectStore | null;
  /** Interval of the job that checks undecided payments. */
  reconcileEveryMs?: number;
  /** Interval at which all providers are compared. */
  watchEveryMs?: number;
  /** Longest time between chain checks of undecided payments. 0 checks them on every run. */
  longestPauseMs?: number;
  /** Interval of the job that checks the city's offers. */
  worldEveryMs?: number;
  crashPoint?: (name: CrashPoint) => void;
  metrics?: Metrics;
  /** This host's copy of the log. Omitted for none. */
  logCopy?: LogCopyPlace;
  /** Fetches clients' metadata documents. Uses the network by default. */
  fetchDocument?: FetchDocument;
}

export interface RunningMarket {
  market: Market;
  payments: Payments;
  http: HttpServer;
  /** Checks chain and token, then starts serving. */
  start(): Promise<{ url: string; port: number }>;
  /** Stops accepting, finishes requests within `drainMs`, then ends background work. The database stays open. */
  stop(options: { drainMs: number }): Promise<void>;
  /** Resolves once every event committed so far is numbered and visible, also to searches. */
  eventsSettled(): Promise<void>;
}

const DEFAULT_INTERVALS = {
  reconcileEveryMs: 1_000,
  watchEveryMs: 30_000,
  longestPauseMs: 30_000,
  worldEveryMs: 5_000,
};

const CHAIN_VARIABLES = { rpcUrls: 'OPENAISLE_RPC_URLS', usdc: 'OPENAISLE_USDC_ADDRESS' };
/** Keys of market and city are recognised as secrets at both sites, even if the operator chose another prefix. */
const SITE_PREFIXES = ['aisle', 'city'];

/** Wires the market together. Only this file knows all its parts. */
export function createMarket(options: MarketOptions): RunningMarket {
  const { config, clock, random, log, pepper } = options;
  const { database, mark } = noteWrites(options.database);
  const sequencer = createSequencer({ database, clock, log });
  const events = createEventTail();
  const stream = createEventStream({ database, clock, log, tail: events, ...slotOptions(config.limits, random) });
  const catalog = createMarketCatalog({
    database,
    clock,
    log,
    pepper,
    memoryBytes: config.catalogMemoryBytes,
    textFile: { folder: join(config.dataDir, 'search') },
    followers: [stream.follower],
  });
  const history = createMarketHistory({ database, clock, log, place: options.logCopy ?? null, events, catalog });
  const providers = createProviders(config.rpcUrls, clock);
  const market: Market = {
    config,
    database,
    clock,
    random,
    log,
    pepper,
    objectStore: options.objectStore ?? null,
    rpc: providers[0],
    providers,
    wakeEvents: () => sequencer.wake(),
    hasRecentRecovery: history.hasRecentRecovery,
    crashPoint: options.crashPoint ?? (() => {}),
  };
  const completions = { purchase: completePurchase(market), listing_fee: completeFee(market, createThingFees(market)) };
  const intervals = { ...DEFAULT_INTERVALS, ...options };
  const payments = createPayments(market, completions, intervals);
  const budgets = createBudgets(market);
  const parts = { payments, catalog, events, budgets, history };
  const connector = createConnector(market, { ...options, showFault: showConnectFault(market) });
  const pictures = createPictures();
  const http = serveHttp(market, { ...parts, connector, stream, pictures }, mark);
  const background = createBackground(market, payments, intervals.worldEveryMs);
  const leaderships = () => ({ number_events: sequencer.isLeader(), ...background.leaderships() });
  const { goodsFacts } = background;
  if (options.metrics)
    observeMarket(options.metrics, { ...parts, sequencer, stream, http, clock, leaderships, goodsFacts });
  return {
    market,
    payments,
    http,
    start: async () => {
      await checkNetworks({ providers, network: config.network, log, variables: CHAIN_VARIABLES });
      await history.start();
      await payments.watch.check();
      if (!(await refreshSigners(market))) log.warn('facilitator_unreachable_at_start', { url: config.facilitatorUrl });
      await catalog.start();
      sequencer.start();
      background.start();
      return await http.listen({ host: config.host, port: config.port });
    },
    stop: async ({ drainMs }) => {
      await stream.stop();
      await http.close({ drainMs });
      await pictures.stop();
      await background.stop();
      await sequencer.stop();
      await history.stop();
      await catalog.stop();
    },
    eventsSettled: () => sequencer.whenNumbered().then(catalog.fresh).then(catalog.searchable),
  };
}

/** Creates the background jobs, in the order in which they start and stop. */
function createBackground(market: Market, payments: Payments, worldEveryMs: number) {
  const { config, database, clock, log } = market;
  const { reconciler, watch } = payments;
  const pruning = createPruning({ database, clock, log });
  const goodsPruning = createGoodsPruning(market);
  const renewal = createFingerprintRenewal({ database, clock, log });
  const world = config.cityUrl === null ? null : createWorldSyncJob(market, payments, worldEveryMs);
  const parts = [reconciler, watch, pruning, goodsPruning, renewal, ...(world === null ? [] : [world])];
  return {
    start: (): void => {
      for (const part of parts) part.start();
    },
    stop: async (): Promise<void> => {
      for (const part of parts) await part.stop();
    },
    leaderships: () => ({
      reconcile: reconciler.isLeader(),
      prune_changes: pruning.isLeader(),
      prune_goods: goodsPruning.isLeader(),
      renew_shapes: renewal.isLeader(),
      ...(world === null ? {} : { world: world.isLeader() }),
    }),
    goodsFacts: goodsPruning.facts,
  };
}

interface Observed {
  payments: Payments;
  catalog: MarketCatalog;
  sequencer: Sequencer;
  stream: EventStream;
  history: MarketHistory;
  http: HttpServer;
  clock: Clock;
  leaderships(): Readonly<Record<string, boolean>>;
  goodsFacts(): GoodsFacts | null;
}

function observeMarket(metrics: Metrics, parts: Observed): void {
  const { payments, catalog, sequencer, stream, history, http, clock } = parts;
  metrics.observeCatalog(catalog.facts);
  metrics.observeUnnumberedMs(sequencer.unnumberedMs);
  metrics.observeStreams(stream.open);
  metrics.observeHistory(history.facts);
  metrics.observeLeaderships(parts.leaderships);
  metrics.observeReads(http.readCounts);
  metrics.observeAdmission(http.admission);
  metrics.observeChain(() => chainFacts(payments, clock));
  metrics.observePayments(() => paymentsFacts(payments, clock));
  metrics.observeGoods(parts.goodsFacts);
  metrics.observeX402Refusals(payments.x402Gate.refused);
}

function serveHttp(
  market: Market,
  parts: OperationDependencies & {
    history: MarketHistory;
    connector: Connector;
    stream: EventStream;
    pictures: Pictures;
  },
  mark: NotedDatabase['mark'],
): HttpServer {
  const { catalog, connector, budgets, history, payments } = parts;
  const { readMs } = budgets;
  const { clock, config, log, random } = market;
  const readYourWrites = createReadYourWrites({ catalog, mark, clock, log });
  const readJson = createReadFromMemory(parts, readYourWrites);
  const storefront = createStorefront(market, { events: parts.events, catalog, readJson });
  return createHttpServer({
    endpoints,
    operations: readYourWrites.wrap(limitOperations(budgets, guardHistory(history, marketOperations(parts)))),
    context: market,
    authenticate: async (bearer) => {
      // Do not tell a merchant whose registration was lost that its key is wrong.
      if (history.isLost()) throw historyLost();
      return await authenticate(market, bearer);
    },
    isMaintainer: (merchant) => merchant.maintainer,
    callerId: (merchant) => merchant.id,
    log,
    clock,
    random,
    docsUrl: (reason) => `${config.baseUrl}/docs/errors/${reason}`,
    secretPrefixes: [...new Set([config.keyPrefix, ...SITE_PREFIXES])],
    trustProxy: config.trustProxy,
    bounds: { requestsInFlight: config.limits.requests_in_flight, openSockets: config.limits.open_sockets },
    classifyError: refuseByDatabase,
    preSchema: { register: retiredFlow, rotate: retiredFlow },
    pages: limitProbes(budgets.chainReads, createPages(market, { ...parts, front: storefront.front })),
    refusedPage,
    representations: (inside) => ({ getTreasury: createTreasuryPage(market, inside) }),
    extraRoutes: (inside) => [
      mountEventStream(market.database, parts.stream),
      ...limitMounts(readMs, MOUNT_MS.message, createMcp(market, connector, inside)),
      ...limitMounts(readMs, MOUNT_MS.page, guardMounts(history.isLost, [mountDownloads(market, inside)])),
      ...guardMounts(history.isLost, [
        ...connector.routes(inside),
        ...createConnectPages(market, connector.interactions, inside),
        ...mountUploads({
          market,
          inside,
          budget: createUploadBudget(market, budgets),
          admitWrite: (merchant) => refuseLockedOut(history, market, merchant),
        }),
      ]),
      ...limitMounts(readMs, MOUNT_MS.page, storefront.mounts(inside)),
      ...limitMounts(readMs, MOUNT_MS.picture, parts.pictures.mounts(inside)),
      ...createWalletPage(market, inside, payments.x402Gate.leastPriceUnits),
    ],
    fromMemory: (request) => readJson(request) ?? storefront.fromMemory(request),
    readMs,
  });
}
