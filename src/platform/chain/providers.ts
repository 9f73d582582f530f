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

/** What came of the calls to a provider so far. */
export interface CallTally {
  /** Milliseconds; null: never. */
  answeredAt: number | null;
  failures: Readonly<Record<RpcFailureKind, number>>;
}

/** A node that the operator chose, and how it serves. */
export interface Provider extends Rpc {
  /** 1 is the primary. Two of one vendor have the same `endpoint`. */
  readonly number: number;
  tally(): CallTally;
}

export function createProviders(urls: readonly [string, ...string[]], clock: Clock): [Provider, ...Provider[]] {
  const [primary, ...others] = urls;
  return [createProvider(primary, 1, clock), ...others.map((url, at) => createProvider(url, at + 2, clock))];
}

function createProvider(url: string, number: number, clock: Clock): Provider {
  const rpc = createRpc({ url });
  const failures: Record<RpcFailureKind, number> = { timeout: 0, transport: 0, http: 0, malformed: 0, error: 0 };
  let answeredAt: number | null = null;
  const counted = async <T>(asked: Promise<T>): Promise<T> => {
    addRequestCost(1);
    try {
      const answer = await asked;
      answeredAt = clock.now();
      return answer;
    } catch (error) {
      if (error instanceof RpcFailure) failures[error.kind] += 1;
      // An error object is an answer: a call that reverts, say.
      if (error instanceof RpcFailure && error.kind === 'error') answeredAt = clock.now();
      throw error;
    }
  };
  return {
    number,
    endpoint: rpc.endpoint,
    call: (method, params, options) => counted(rpc.call(method, params, options)),
    traffic: rpc.traffic,
    tally: () => ({ answeredAt, failures: { ...failures } }),
  };
}

/** How long a provider may hold up decisions by silence or by standing still. */
const PATIENCE_MS = 60_000;
/** One that has just let a deadline pass is not asked at once about the next payment. */
const PAUSE_MS = 2_000;

/** How a provider stands, as far as this process has seen. All times in milliseconds where not said otherwise. */
export interface ProviderHealth {
  readonly provider: Provider;
  /** Its latest block was read. */
  noteHead(latest: Pick<Block, 'number' | 'timestamp'>): void;
  /** Its head could not be read. */
  noteSilence(): void;
  /** Whether it could answer when it was asked about a payment. An answer of one kind says nothing about the other. */
  noteAnswer(about: PaymentQuestion, isAnswered: boolean): void;
  noteDisagreement(): void;
  /** It had not reached a block so long that the decision was made without it. */
  noteExcused(): void;
  /** What its head was last refused for; true when that is news. */
  noteRefusal(why: string | null): boolean;
  /** The last reading of its head failed: another one is asked first. */
  isFailing(): boolean;
  /** It failed a moment ago. */
  isPausing(): boolean;
  /**
   * Why it has no say; null while it has. `silent`: its head cannot be read. `stuck`: its head stands still, below `best`, the highest
   * latest block that any provider has shown. `mute`: its head moves, but it cannot answer what it is asked about payments. `about` names the
   * question; left out, one kind that it cannot answer is enough, as for the lead.
   */
  exclusionReason(best: bigint, about?: PaymentQuestion): ExclusionReason | null;
  /** Its latest block is so old, by our own clock, that no decision waits for this provider. */
  isLate(): boolean;
  facts(): HealthFacts;
}

type ExclusionReason = 'silent' | 'stuck' | 'mute';

/** Many plans serve receipts and no logs over a range. */
export type PaymentQuestion = 'logs' | 'receipts';

interface HealthFacts {
  head: { number: bigint; ageMs: number } | null;
  disagreements: number;
  /** A decision was made without it lately, for being late. */
  wasExcused: boolean;
}

/**
 * Uses observations only, never time that merely went by: after the machine has slept, no provider is late before it was asked.
 * What other providers claim of themselves makes none late, or one that lies could take the vote from the honest ones.
 */
function createHealthOfProvider(provider: Provider, clock: Clock): ProviderHealth {
  let head: Pick<Block, 'number' | 'timestamp'> | null = null;
  const [silence, stillness] = [createSpell(clock), createSpell(clock)];
  const muteness = { logs: createSpell(clock), receipts: createSpell(clock) };
  const isMute = (about: PaymentQuestion): boolean => (muteness[about].lastsMs() ?? 0) > PATIENCE_MS;
  let disagreements = 0;
  let excusedAt: number | null = null;
  let refusal: string | null = null;

  return {
    provider,
    noteHead: ({ number, timestamp }) => {
      silence.over();
      if (head === null || number > head.number) stillness.over();
      else stillness.goesOn();
      head = { number, timestamp };
    },
    noteSilence: silence.goesOn,
    noteAnswer: (about, isAnswered) => (isAnswered ? muteness[about].over() : muteness[about].goesOn()),
    noteDisagreement: () => {
      disagreements += 1;
    },
    noteExcused: () => {
      excusedAt = clock.now();
    },
    noteRefusal: (why) => {
      const isNews = why !== refusal;
      refusal = why;
      return isNews;
    },
    isFailing: () => silence.lastsMs() !== null,
    isPausing: () => silence.isFresh(),
    exclusionReason: (best, about) => {
      if ((silence.lastsMs() ?? 0) > PATIENCE_MS) return 'silent';
      if ((stillness.lastsMs() ?? 0) > PATIENCE_MS && head !== null && head.number < best) return 'stuck';
      const isLeftOut = about === undefined ? isMute('logs') || isMute('receipts') : isMute(about);
      return isLeftOut ? 'mute' : null;
    },
    isLate: () => head !== null && clock.now() - Number(head.timestamp) * 1_000 > PATIENCE_MS,
    facts: () => ({
      head: head && { number: head.number, ageMs: clock.now() - Number(head.timestamp) * 1_000 },
      disagreements,
      wasExcused: excusedAt !== null && clock.now() - excusedAt < PATIENCE_MS,
    }),
  };
}

/** A run of failures, from the first to the last. A failure more than PATIENCE_MS after the last one begins a new run. */
function createSpell(clock: Clock) {
  let spell: { from: number; to: number } | null = null;
  return {
    goesOn: (): void => {
      const now = clock.now();
      const from = spell === null || now - spell.to > PATIENCE_MS ? now : spell.from;
      spell = { from, to: now };
    },
    over: (): void => {
      spell = null;
    },
    lastsMs: (): number | null => (spell === null ? null : spell.to - spell.from),
    isFresh: (): boolean => spell !== null && clock.now() - spell.to < PAUSE_MS,
  };
}

/** Those of all providers, in their order, and what they amount to together. */
export interface ProvidersHealth {
  readonly all: readonly ProviderHealth[];
  /** The highest latest block that any of them has shown. */
  best(): bigint;
  /** In the order in which they are to lead: those that serve first. */
  leaders(): ProviderHealth[];
}

export function createProviderHealth(providers: readonly Provider[], clock: Clock): ProvidersHealth {
  const all = providers.map((provider) => createHealthOfProvider(provider, clock));
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
  /** What the variables are called that the operator has to mend. */
  variables: { rpcUrls: string; usdc: string };
}

/** A server on the wrong chain, or with another token, would believe payments that are none. Measures how many blocks of logs each provider takes. */
export async function checkNetworks(checked: CheckedNetwork): Promise<void> {
  await Promise.all(
    checked.providers.map(async (provider) => {
      try {
        await checkNetwork(checked, provider);
        await measureLogSpan(provider, { usdc: checked.network.usdc, log: checked.log });
      } catch (error) {
        // Reads must be served while the chain is away; each payment asks for the chain id again before it is decided.
        if (!(error instanceof RpcFailure)) throw error;
        checked.log.warn('chain_unreadable_at_start', { endpoint: provider.endpoint, error });
      }
    }),
  );
}

async function checkNetwork({ network, providers, variables }: CheckedNetwork, provider: Provider): Promise<void> {
  // Its place says which one: the address may hold a key.
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
  const wanted = domainSeparatorOf({
    name: network.domainName,
    version: network.domainVersion,
    chainId: network.chainId,
    verifyingContract: network.usdc,
  });
  if (decimals !== USDC_DECIMALS || separator !== wanted) {
    throw new Error(`${variables.usdc}: the contract there is not the native USDC of the network, as ${name} shows it`);
  }
}
