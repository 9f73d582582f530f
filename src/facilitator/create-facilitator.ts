import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { PrivateKeyAccount } from 'viem/accounts';
import type { Network } from '../contract/vocabulary.ts';
import { measureLogSpan } from '../platform/chain/measure-log-span.ts';
import { createRpc } from '../platform/chain/rpc.ts';
import { type Clock, systemClock } from '../platform/clock.ts';
import { lockDataFolder } from '../platform/data-folder.ts';
import { type Hex, isHex } from '../platform/hex.ts';
import { closeServer, createInFlightAnswers } from '../platform/http/exchanges.ts';
import type { Log } from '../platform/log.ts';
import {
  createGasBudget,
  DEFAULT_LIMITS,
  ETHER_USDC,
  type Limits,
  lossesOf,
  type Reserved,
  reservedOf,
} from './budget/gas-budget.ts';
import { createPayerQueue } from './budget/payer-queue.ts';
import { createConclude } from './conclude.ts';
import { type Context, createCounts, createVerifiedCache, domainOf, TIMING, type Timing } from './context.ts';
import type { ReachCrashPoint } from './crash-points.ts';
import { createApp } from './create-app.ts';
import { createFollower } from './create-follower.ts';
import { createSender } from './create-sender.ts';
import { createSettle } from './create-settle.ts';
import { createHead } from './head.ts';
import { openJournal } from './journal/open-journal.ts';
import { monitorPending } from './monitor-pending.ts';
import { checkChain, createMetrics, type Health } from './monitoring.ts';
import { createNonces } from './nonces.ts';
import { createQuoteGas } from './quote-gas.ts';

export interface FacilitatorOptions {
  network: Network;
  rpcUrl: string;
  /** Account that pays the gas. Only one server may use it. Other transactions of the account may delay settlements. */
  account: PrivateKeyAccount;
  dataDir: string;
  log: Log;
  /** Default: 127.0.0.1. */
  host?: string;
  /** 0 or omitted: any free port. */
  port?: number;
  clock?: Clock;
  timing?: Partial<Timing>;
  /** /readyz fails below this balance. */
  balanceFloorWei?: bigint;
  /** The Authorization header that callers must send. Null or omitted: everyone may spend the gas. */
  auth?: string | null;
  limits?: Partial<Limits>;
  etherUsdc?: number;
  /** 0 or omitted: no metrics server. */
  metricsPort?: number;
  crashPoint?: ReachCrashPoint;
}

export interface Facilitator {
  url: string;
  address: Hex;
  metricsPort: number;
  /** Finishes the answers that have begun, then releases the data folder. */
  close(): Promise<void>;
}

/** Enough gas for a few hundred settlements on Base. */
const BALANCE_FLOOR_WEI = 200_000_000_000_000n;
const RPC_MS = 2_500;
/** Further time for sending answers that became ready only at the end of `answerMs`. */
const DRAIN_MORE_MS = 1_000;
const USDC_UNITS = 1_000_000;

/**
 * Starts the server. Resolves when it is listening. Throws if the node does not answer or is on another chain, or if another process uses
 * the folder.
 */
export async function createFacilitator(options: FacilitatorOptions): Promise<Facilitator> {
  const folder = join(options.dataDir, 'facilitator');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const lock = await lockDataFolder(folder, folder).catch((error: unknown) => {
    throw new Error(`FACILITATOR_DATA_DIR: ${error instanceof Error ? error.message : String(error)}`);
  });
  try {
    const context = await openContext(options, folder);
    const balanceFloorWei = options.balanceFloorWei ?? BALANCE_FLOOR_WEI;
    refuseUnfit(await checkChain(context, balanceFloorWei), context);
    await measureLogSpan(context.rpc, { usdc: context.network.usdc, log: context.log });
    const conclude = createConclude(context);
    const follower = createFollower(context, conclude);
    const sender = createSender(context, { conclude, follower });
    const settle = createSettle({ context, sender, conclude, follower });
    const { clock } = context;
    const flights = createInFlightAnswers();
    const app = createApp({ context, settle, flights, auth: options.auth ?? null, balanceFloorWei });
    const metrics = await createMetrics(context, { host: options.host ?? '127.0.0.1', port: options.metricsPort ?? 0 });
    const url = await app.listen({ host: options.host ?? '127.0.0.1', port: options.port ?? 0 });
    const pendingMonitor = monitorPending(context, { conclude, sender });
    context.log.info('facilitator_listening', { url, from: context.address, network: context.network.name });
    return {
      url,
      address: context.address,
      metricsPort: metrics.port,
      close: async () => {
        // Otherwise queued settlements would keep the server open.
        sender.close();
        context.payerQueue.close();
        // Otherwise idle and half-open connections would keep the server open for ever.
        await closeServer(app, flights, { clock, drainMs: context.timing.answerMs + DRAIN_MORE_MS });
        await settle.idle();
        await pendingMonitor.stop();
        await metrics.close();
        await context.journal.close();
        await lock.release();
      },
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function openContext(options: FacilitatorOptions, folder: string): Promise<Context> {
  const { network, account, log } = options;
  const clock = options.clock ?? systemClock;
  const address = account.address.toLowerCase();
  if (!isHex(address, 20)) throw new TypeError('the account has no address');
  const rpc = createRpc({ url: options.rpcUrl, deadlineMs: RPC_MS });
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const crashPoint = options.crashPoint ?? (() => {});
  const journal = await openJournal({ folder, chainId: network.chainId, clock, log, crashPoint });
  const losses = [...journal.losses(), ...lossesOf(journal.all())];
  const signing = new Set<Reserved>();
  const inFlight = () => [...Array.from(journal.inFlight(), reservedOf), ...signing];
  const head = createHead(rpc, clock);
  return {
    network,
    domain: domainOf(network),
    rpc,
    account,
    address,
    journal,
    signing,
    head,
    nonces: createNonces({ rpc, address, journal, log, clock, crashPoint }),
    quoteGas: createQuoteGas({ rpc, head, address, network, clock }),
    verified: createVerifiedCache(clock),
    limits,
    budget: createGasBudget({ limits, clock, losses, inFlight }),
    payerQueue: createPayerQueue(limits, clock.now),
    etherUnits: BigInt(Math.round((options.etherUsdc ?? ETHER_USDC) * USDC_UNITS)),
    counts: createCounts(),
    clock,
    log,
    timing: { ...TIMING, ...options.timing },
    crashPoint,
  };
}

function refuseUnfit(health: Health, { network, rpc, address, log }: Context): void {
  const where = `the node at ${rpc.endpoint}`;
  if (health.chain === 'unreachable') throw new Error(`FACILITATOR_RPC_URL: ${where} does not answer`);
  if (health.chain === 'wrong_chain') {
    throw new Error(`FACILITATOR_RPC_URL: ${where} is not on ${network.name} (chain id ${network.chainId})`);
  }
  if (health.chain === 'wrong_token') throw new Error(`FACILITATOR_RPC_URL: ${where} has no USDC at ${network.usdc}`);
  // Only warn: the account can be funded while the server runs, and the server still answers for settlements that it has made.
  if (health.signer_balance !== 'ok') log.warn('signer_balance_low', { from: address });
}
