import { type Network, USDC_DECIMALS } from '../../contract/vocabulary.ts';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import { addRequestCost } from '../request-cost.ts';
import { measureLogSpan } from './measure-log-span.ts';
import { type Block, readChainId } from './reads.ts';
import { createRpc, type Rpc, RpcFailure } from './rpc.ts';
import type { RpcFailureKind } from './rpc-batch.ts';
import { domainSeparatorOf } from './shapes.ts';
import { readDecimals, readDomainSeparator } from './usdc.ts';

export interface CallCounters {
  /** Time of the last answer in milliseconds since 1970. Null if the provider has never answered. */
  answeredAt: number | null;
  failures: Readonly<Record<RpcFailureKind, number>>;
}

/** A node that the operator configured, with call counters. */
export interface Provider extends Rpc {
  /** 1 is the primary. Two nodes of one vendor may have the same `endpoint`. */
  readonly number: number;
  counters(): CallCounters;
}

export function createProviders(urls: readonly [string, ...string[]], clock: Clock): [Provider, ...Provider[]] {
  const [primary, ...others] = urls;
  return [createProvider(primary, 1, clock), ...others.map((url, at) => createProvider(url, at + 2, clock))];
}

function createProvider(url: string, number: number, clock: Clock): Provider {
  const rpc = createRpc({ url });
  const failures: Record<RpcFailureKind, number> = { timeout: 0, transport: 0, http: 0, malformed: 0, error: 0 };
  let answeredAt: number | null = null;
  const countOutcome = async <T>(call: Promise<T>): Promise<T> => {
    addRequestCost(1);
    try {
      const answer = await call;
      answeredAt = clock.now();
      return answer;
    } catch (error) {
      if (error instanceof RpcFailure) failures[error.kind] += 1;
      // An error object is an answer too, such as that of a call that reverts.
      if (error instanceof RpcFailure && error.kind === 'error') answeredAt = clock.now();
      throw error;
    }
  };
  return {
    number,
    endpoint: rpc.endpoint,
    call: (method, params, options) => countOutcome(rpc.call(method, params, options)),
    traffic: rpc.traffic,
    counters: () => ({ answeredAt, failures: { ...failures } }),
  };
}

/** How long a provider may delay decisions by not answering, or by a head that does not advance. */
const PATIENCE_MS = 60_000;
/** A provider whose head could not be read is not asked about another payment for this long. */
const PAUSE_MS = 2_000;

/** A provider's health as this process has observed it. Times are in milliseconds unless the name says otherwise. */
export interface ProviderHealth {
  readonly provider: Provider;
  /** Records that the provider's latest block was read. */
  noteHead(latest: Pick<Block, 'number' | 'timestamp'>): void;
  /** Records that the provider's head could not be read. */
  noteSilence(): void;
  /** Records whether the provider could answer a question about payments. Logs and receipts are tracked separately. */
  noteAnswer(about: PaymentQuestion, isAnswered: boolean): void;
  noteDisagreement(): void;
  /** Records that a decision was made without this provider, because it was too far behind. */
  noteExcused(): void;
  /** Records why the provider's head was refused. Null if it was accepted. Returns true if that changed. */
  noteRefusal(why: string | null): boolean;
  /** True if the last read of the provider's head failed. Other providers are then asked first. */
  isFailing(): boolean;
  /** True if a read of the provider's head failed a moment ago. */
  isPausing(): boolean;
  /**
   * Returns why the provider's view does not count, or null. `silent`: its head cannot be read. `stuck`: its head does not advance and is
   * below `best`, the highest latest block of any provider. `mute`: its head advances, but it cannot answer the question `about`. Without
   * `about`, as for the choice of the leader, a provider is `mute` if it cannot answer one of the two kinds of questions.
   */
  exclusionReason(best: bigint, about?: PaymentQuestion): ExclusionReason | null;
  /** True if the provider's latest block is so old by our clock that no decision waits for this provider. */
  isLate(): boolean;
  facts(): HealthFacts;
}

type ExclusionReason = 'silent' | 'stuck' | 'mute';

/** Tracked separately, because many plans serve receipts but no logs over a range. */
export type PaymentQuestion = 'logs' | 'receipts';

interface HealthFacts {
  head: { number: bigint; ageMs: number } | null;
  disagreements: number;
  /** True if a decision was made lately without this provider, because it was late. */
  wasExcused: boolean;
}

/**
 * Excludes a provider only for what was observed, never because time has passed: the machine may have slept. Judges the age of a provider's
 * head by our own clock and not by the heads of others, because a provider that lies could otherwise exclude the honest ones.
 */
function createHealth(provider: Provider, clock: Clock): ProviderHealth {
  let head: Pick<Block, 'number' | 'timestamp'> | null = null;
  const [silence, stillness] = [createFailureRun(clock), createFailureRun(clock)];
  const muteness = { logs: createFailureRun(clock), receipts: createFailureRun(clock) };
  const isMute = (about: PaymentQuestion): boolean => (muteness[about].durationMs() ?? 0) > PATIENCE_MS;
  let disagreements = 0;
  let excusedAt: number | null = null;
  let refusal: string | null = null;

  return {
    provider,
    noteHead: ({ number, timestamp }) => {
      silence.end();
      if (head === null || number > head.number) stillness.end();
      else stillness.extend();
      head = { number, timestamp };
    },
    noteSilence: silence.extend,
    noteAnswer: (about, isAnswered) => (isAnswered ? muteness[about].end() : muteness[about].extend()),
    noteDisagreement: () => {
      disagreements += 1;
    },
    noteExcused: () => {
      excusedAt = clock.now();
    },
    noteRefusal: (why) => {
      const hasChanged = why !== refusal;
      refusal = why;
      return hasChanged;
    },
    isFailing: () => silence.durationMs() !== null,
    isPausing: () => silence.isFresh(),
    exclusionReason: (best, about) => {
      if ((silence.durationMs() ?? 0) > PATIENCE_MS) return 'silent';
      if ((stillness.durationMs() ?? 0) > PATIENCE_MS && head !== null && head.number < best) return 'stuck';
      const isUnanswering = about === undefined ? isMute('logs') || isMute('receipts') : isMute(about);
      return isUnanswering ? 'mute' : null;
    },
    isLate: () => head !== null && clock.now() - Number(head.timestamp) * 1_000 > PATIENCE_MS,
    facts: () => ({
      head: head && { number: head.number, ageMs: clock.now() - Number(head.timestamp) * 1_000 },
      disagreements,
      wasExcused: excusedAt !== null && clock.now() - excusedAt < PATIENCE_MS,
    }),
  };
}

/** Measures a run of failures from the first to the last. A failure more than PATIENCE_MS after the previous one begins a new run. */
function createFailureRun(clock: Clock) {
  let run: { from: number; to: number } | null = null;
  return {
    extend: (): void => {
      const now = clock.now();
      const from = run === null || now - run.to > PATIENCE_MS ? now : run.from;
      run = { from, to: now };
    },
    end: (): void => {
      run = null;
    },
    durationMs: (): number | null => (run === null ? null : run.to - run.from),
    isFresh: (): boolean => run !== null && clock.now() - run.to < PAUSE_MS,
  };
}

/** The health of all providers, in the order of configuration. */
export interface ProvidersHealth {
  readonly all: readonly ProviderHealth[];
  best(): bigint;
  /** All providers in the order in which they are asked to lead: working ones first. */
  leaders(): ProviderHealth[];
}

export function createProviderHealth(providers: readonly Provider[], clock: Clock): ProvidersHealth {
  const all = providers.map((provider) => createHealth(provider, clock));
  const best = (): bigint =>
    all.reduce((high, health) => {
      const number = health.facts().head?.number ?? 0n;
      return number > high ? number : high;
    }, 0n);
  const rank = (health: ProviderHealth): number =>
    health.isFailing() || health.exclusionReason(best()) !== null ? 1 : 0;
  return { all, best, leaders: () => all.toSorted((a, b) => rank(a) - rank(b)) };
}

interface CheckedNetwork {
  providers: readonly Provider[];
  network: Network;
  log: Log;
  /** Names of the environment variables, for error messages. */
  variables: { rpcUrls: string; usdc: string };
}

/** Rejects providers of another chain or token, because payments there are worthless to us. Also measures each provider's log span. */
export async function checkNetworks(checked: CheckedNetwork): Promise<void> {
  await Promise.all(
    checked.providers.map(async (provider) => {
      try {
        await checkNetwork(checked, provider);
        await measureLogSpan(provider, { usdc: checked.network.usdc, log: checked.log });
      } catch (error) {
        // Reads must work while the chain is unreachable. The chain id is checked again before each payment is decided.
        if (!(error instanceof RpcFailure)) throw error;
        checked.log.warn('chain_unreadable_at_start', { endpoint: provider.endpoint, error });
      }
    }),
  );
}

async function checkNetwork({ network, providers, variables }: CheckedNetwork, provider: Provider): Promise<void> {
  // Identify the node by its number, because its URL may contain a key.
  const name = providers.length === 1 ? 'the node' : `node ${provider.number}`;
  const chainId = await readChainId(provider);
  if (chainId !== network.chainId) {
    throw new Error(
      `${variables.rpcUrls}: ${name} is on chain ${chainId}, not on ${network.chainId} (${network.name})`,
    );
  }
  const [decimals, separator] = await Promise.all([
    readDecimals(provider, network.usdc),
    readDomainSeparator(provider, network.usdc),
  ]);
  const expected = domainSeparatorOf({
    name: network.domainName,
    version: network.domainVersion,
    chainId: network.chainId,
    verifyingContract: network.usdc,
  });
  if (decimals !== USDC_DECIMALS || separator !== expected) {
    throw new Error(
      `${variables.usdc}: according to ${name}, the contract there is not the native USDC of the network`,
    );
  }
}
