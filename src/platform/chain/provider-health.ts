import type { Clock } from '../clock.ts';
import type { Provider } from './provider.ts';
import type { Block } from './reads.ts';

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
  /** Whether it could answer when it was asked about a payment. */
  noteAnswer(given: boolean): void;
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
   * latest block that any provider has shown. `mute`: its head moves, but it cannot say anything about payments.
   */
  leftOut(best: bigint): LeftOut | null;
  /** Its latest block is so old, by our own clock, that no decision waits for this provider. */
  isLate(): boolean;
  facts(): StandingFacts;
}

export type LeftOut = 'silent' | 'stuck' | 'mute';

export interface StandingFacts {
  head: { number: bigint; ageMs: number } | null;
  disagreements: number;
  /** A decision was made without it lately, for being late. */
  wasExcused: boolean;
}

/**
 * Uses observations only, never time that merely went by: after the machine has slept, no provider is late before it was asked.
 * What other providers claim of themselves makes none late, or one that lies could take the vote from the honest ones.
 */
export function createHealthOfProvider(provider: Provider, clock: Clock): ProviderHealth {
  let head: Pick<Block, 'number' | 'timestamp'> | null = null;
  const [silence, stillness, muteness] = [createSpell(clock), createSpell(clock), createSpell(clock)];
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
    noteAnswer: (given) => (given ? muteness.over() : muteness.goesOn()),
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
    leftOut: (best) => {
      if ((silence.lastsMs() ?? 0) > PATIENCE_MS) return 'silent';
      if ((stillness.lastsMs() ?? 0) > PATIENCE_MS && head !== null && head.number < best) return 'stuck';
      return (muteness.lastsMs() ?? 0) > PATIENCE_MS ? 'mute' : null;
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
  const rank = (health: ProviderHealth): number => (health.isFailing() || health.leftOut(best()) !== null ? 1 : 0);
  return { all, best, leaders: () => all.toSorted((a, b) => rank(a) - rank(b)) };
}
