import { Agent } from 'node:http';
import { AISLES } from '../../src/contract/vocabulary.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { checkWalk, readPage } from './check-page.ts';
import { diceFor } from './dice.ts';
import type { Seeded } from './seed.ts';

export interface ReadAlong {
  pages: number;
  walks: number;
  faults: string[];
  stop(): Promise<void>;
}

/** Few enough not to change the figures, although each of these pages is checked completely. */
const PAGES_PER_SECOND = 20;
const WALK_PAGES = 12;

/** Starts an additional reader that checks every page. */
export function readAlong(url: string, paths: readonly string[], seeded: Seeded): ReadAlong {
  const agent = new Agent({ keepAlive: true, maxSockets: 2 });
  const stopped = new AbortController();
  const { signal } = stopped;
  const dice = diceFor(seeded.seed, 'read along');
  const state = { pages: 0, walks: 0, faults: [] as string[] };
  const note = (error: unknown): void => void state.faults.push(error instanceof Error ? error.message : String(error));
  const readPages = async (): Promise<void> => {
    while (!signal.aborted) {
      await readPage(url, dice.pick(paths), agent, dice.share() < 0.3).catch(note);
      state.pages += 1;
      await systemClock.sleep(1_000 / PAGES_PER_SECOND, signal);
    }
  };
  const walk = async (): Promise<void> => {
    const sorts = ['new', 'karma', 'sales', 'price_asc', 'price_desc'];
    while (!signal.aborted) {
      const words = seeded.vocabulary.words[6 + dice.int(2_000)];
      const filter = dice.pick([
        `aisle=${dice.pick(AISLES)}`,
        `tag=${dice.pick(seeded.vocabulary.tags)}`,
        `q=${encodeURIComponent(words ?? '')}`,
      ]);
      const sort = filter.startsWith('q=') && dice.share() < 0.5 ? 'relevance' : dice.pick(sorts);
      await checkWalk(url, `${filter}&sort=${sort}`, agent, WALK_PAGES).catch(note);
      state.walks += 1;
      await systemClock.sleep(500, signal);
    }
  };
  const running = Promise.all([readPages(), walk()]);
  return Object.assign(state, {
    stop: async () => {
      stopped.abort();
      await running;
      agent.destroy();
    },
  });
}
