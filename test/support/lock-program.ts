import { appendFileSync } from 'node:fs';
import { takeLock } from '../../src/locks/take-lock.ts';
import { createDice } from './dice.ts';

// Takes and releases a lock repeatedly and logs both. Sometimes kills itself while holding the lock.
const [folder = '', journal = '', seed = '0'] = process.argv.slice(2);
const dice = createDice(Number(seed));
const note = (what: string): void => appendFileSync(journal, `${what} ${process.pid}\n`);
// Each process gets its own name for the old version's lock, because a shared name would already exclude the other processes.
const place = { folder, name: '.lock', earlier: { name: `openaisle-test-${folder}-${process.pid}`, folder } };

for (;;) {
  const lock = await takeLock(place, AbortSignal.timeout(60_000));
  note('enter');
  await new Promise((resolve) => setTimeout(resolve, dice.number(4)));
  if (dice.chance(0.03)) {
    note('end');
    process.kill(process.pid, 'SIGKILL');
  }
  note('leave');
  await lock.release();
  if (dice.chance(0.2)) await new Promise((resolve) => setTimeout(resolve, dice.number(10)));
}
