import type { EndpointShape } from '../contract/endpoint.ts';
import type { IdentityEndpoint, Limits, Network } from '../contract/vocabulary.ts';
import type { Provider } from '../platform/chain/providers.ts';
import type { Rpc } from '../platform/chain/rpc.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database, Queryable } from '../platform/database/database.ts';
import type { Hex } from '../platform/hex.ts';
import type { Subnet } from '../platform/http/client-network.ts';
import type { Call, Operation, ReadOperation } from '../platform/http/operation.ts';
import type { Log } from '../platform/log.ts';
import type { ObjectStore } from '../platform/object-store.ts';
import type { Pepper } from '../platform/pepper.ts';
import type { Random } from '../platform/random.ts';

export interface NetworkRule {
  /** At most 64 bits of an IPv6 address, because a client controls the rest. */
  network: Subnet;
  limits: Partial<Limits>;
}

/** An S3 bucket that keeps the bytes of uploaded goods. */
export interface S3Settings {
  /** Origin. https, or http on a loopback address. */
  endpoint: string;
  bucket: string;
  region: string;
  keyId: string;
  secretFile: string;
}

/** The market's environment, checked at start (docs/operate.md). */
export interface MarketConfig {
  host: string;
  port: number;
  /** 0 disables the metrics server. */
  metricsPort: number;
  /** Number of web processes. Each has a catalog of its own. */
  workers: number;
  /** URL without a trailing slash. */
  baseUrl: string;
  databaseUrl: string | null;
  /** Connections of all processes on this host together. Null for as many as the server has room for. */
  databaseConnections: number | null;
  dataDir: string;
  /** Folder for the copy of the public log. Null for a folder inside the data folder. */
  logCopyDir: string | null;
  /** Network settings, including the configured USDC address. */
  network: Network;
  /** The first URL is that of the primary provider. */
  rpcUrls: readonly [string, ...string[]];
  finalityMinAgeSeconds: number;
  treasury: Hex;
  facilitatorUrl: string;
  /** Value of the Authorization header sent to the facilitator. */
  facilitatorAuth: string | null;
  /** Origin of the linked city. Null if no things are sold. */
  cityUrl: string | null;
  pepperFile: string | null;
  /** Store for the bytes of new uploads. Null: the database. */
  s3: S3Settings | null;
  keyPrefix: string;
  deploymentCommit: string | null;
  sourceUrl: string | null;
  explorerUrl: string | null;
  /** The operator's private contact: a mailto: or https: URL. */
  contactUrl: string | null;
  limits: Limits;
  clientNetworkLimits: readonly NetworkRule[];
  /** Bytes of listings that each catalog keeps in memory. */
  catalogMemoryBytes: number;
  openIdentityEndpoints: ReadonlySet<IdentityEndpoint>;
  /** Hosts of hosted clients. Once one grant of such a host has called `me`, all grants of that host count as proven. */
  hostedHosts: readonly string[];
  /** Proxies that may name the client's address, in fastify's format. False for none. */
  trustProxy: false | string[];
}

/** Owner of a key. */
export interface Merchant {
  id: bigint;
  handle: string;
  maintainer: boolean;
  /** Id of the key in the request. */
  keyId: bigint;
}

/** Everything that operations share. Built once; tests pass their own clock, random source and addresses. */
export interface Market {
  config: MarketConfig;
  database: Database;
  clock: Clock;
  random: Random;
  log: Log;
  /** The primary provider. Decisions about money use all providers instead. */
  rpc: Rpc;
  /** All providers in configured order. The first one that can be trusted now leads a decision (docs/decisions/0021). */
  providers: readonly Provider[];
  pepper: Pepper;
  /** Store for the bytes of new uploads. Null: the database. */
  objectStore: ObjectStore | null;
  /** Call it after a commit that queued events, so that they are numbered at once. */
  wakeEvents(): void;
  /** Whether lost history was recovered in the last 30 days, so that unrecorded payments may be on the chain. Needs no query. */
  hasRecentRecovery(): boolean;
  /** A point where a test may kill the process; does nothing unless configured. */
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
/** A read that may answer with prepared bytes. */
export type MarketRead<E extends EndpointShape> = ReadOperation<E, Market, Merchant>;
export type { Pepper, Queryable };
