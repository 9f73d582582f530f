import type { EndpointShape } from '../contract/endpoint.ts';
import type { IdentityDoor, Limits, Network } from '../contract/vocabulary.ts';
import type { Provider } from '../platform/chain/providers.ts';
import type { Rpc } from '../platform/chain/rpc.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database, Queryable } from '../platform/database/database.ts';
import type { Hex } from '../platform/hex.ts';
import type { Subnet } from '../platform/http/client-network.ts';
import type { Call, Operation, ReadOperation } from '../platform/http/operation.ts';
import type { Log } from '../platform/log.ts';
import type { Pepper } from '../platform/pepper.ts';
import type { Random } from '../platform/random.ts';

/** A network that has some limits of its own. */
export interface NetworkRule {
  /** At most 64 bits of an IPv6 address: a client has the rest to itself. */
  network: Subnet;
  limits: Partial<Limits>;
}

/** The environment of W14, checked at start. */
export interface MarketConfig {
  host: string;
  port: number;
  /** 0: none. */
  metricsPort: number;
  /** Web processes; each has a catalog of its own. */
  workers: number;
  /** Without a trailing slash. */
  baseUrl: string;
  databaseUrl: string | null;
  /** How many connections all processes of this host may have together; null: as many as the server has room for. */
  databaseConnections: number | null;
  dataDir: string;
  /** Where the copy of the public log is kept; null: in the data folder. */
  logCopyDir: string | null;
  /** With the configured USDC address in it. */
  network: Network;
  /** The first is the primary. */
  rpcUrls: readonly [string, ...string[]];
  finalityMinAgeSeconds: number;
  treasury: Hex;
  facilitatorUrl: string;
  /** Value of the Authorization header sent to the facilitator. */
  facilitatorAuth: string | null;
  /** Origin of the linked city; null: nothing of the world is sold here. */
  cityUrl: string | null;
  pepperFile: string | null;
  keyPrefix: string;
  deploymentCommit: string | null;
  sourceUrl: string | null;
  explorerUrl: string | null;
  /** Where people reach the operator in private: a mailto: or https: URL. */
  contactUrl: string | null;
  limits: Limits;
  networkLimits: readonly NetworkRule[];
  /** How much of the listings' bytes one catalog keeps in memory. */
  catalogMemoryBytes: number;
  openDoors: ReadonlySet<IdentityDoor>;
  /** Hosts of hosted clients whose proof counts for everybody who comes through them (W11). */
  hostedHosts: readonly string[];
  /** Proxies that may name the client's address, as fastify takes them; false: none. */
  trustProxy: false | string[];
}

/** Who a key belongs to. */
export interface Merchant {
  id: bigint;
  handle: string;
  maintainer: boolean;
  /** The number of the key that was shown. */
  keyId: bigint;
}

/** Everything that operations share. Built once in main.ts; tests hand in their own clock, chance and addresses. */
export interface Market {
  config: MarketConfig;
  database: Database;
  clock: Clock;
  random: Random;
  log: Log;
  /** The primary provider, for what decides nothing about money. */
  rpc: Rpc;
  /** All of them, in the order in which they lead (0021). */
  providers: readonly Provider[];
  pepper: Pepper;
  /** Called after a commit that queued events, so that they are numbered at once. */
  wakeEvents(): void;
  /** A recovery of lost history (W16) is less than 30 days old: payments that the books lack may be on the chain. Known without asking. */
  hasRecentRecovery(): boolean;
  /** A named place where a test may kill the process; does nothing unless configured. */
  crashPoint(name: CrashPoint): void;
}

export type CrashPoint =
  | 'before_verify'
  | 'after_settling_committed'
  | 'after_settle_before_answer'
  | 'after_claim_committed'
  | 'after_watermark_raised'
  | 'after_head_read'
  | 'after_evidence_gathered'
  | 'after_final_before_delivery'
  | 'after_commit_before_answer';

export type MarketCall<E extends EndpointShape> = Call<E, Merchant>;
export type MarketOperation<E extends EndpointShape> = Operation<E, Market, Merchant>;
/** May answer with bytes that are ready. */
export type MarketRead<E extends EndpointShape> = ReadOperation<E, Market, Merchant>;
export type { Pepper, Queryable };
