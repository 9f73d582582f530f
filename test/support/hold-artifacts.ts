import sql from 'sql-template-tag';
import { systemClock } from '../../src/platform/clock.ts';
import type { TestDatabase } from './database.ts';

const MOST_LOOKS = 500;

/**
 * Runs that while all rows of a model are held, and lets them go once so many statements wait for one: then every one of those has looked
 * at its row and found it unused.
 */
export async function whileHeld<T>(
  { database }: TestDatabase,
  { model, waiting }: { model: string; waiting: number },
  act: () => Promise<T>,
): Promise<T> {
  let running: Promise<T> | null = null;
  await database.transaction(async (tx) => {
    await tx.run(sql`select from oauth_artifacts where model = ${model} for update`);
    running = act();
    running.catch(() => {});
    for (let look = 0; look < MOST_LOOKS; look += 1) {
      const { count } = await tx.one<{ count: bigint }>(sql`
        select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`);
      if (count >= BigInt(waiting)) return;
      await systemClock.sleep(10);
    }
    throw new Error('no session waits for it');
  });
  if (running === null) throw new Error('nothing ran');
  return await running;
}
