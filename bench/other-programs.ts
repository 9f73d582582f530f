import { busyMs } from './load.ts';
import { serverMs } from './spent.ts';

/** Starts watching. The returned function returns how many cores programs outside the benchmark have used since. */
export async function watchOtherPrograms(): Promise<() => Promise<number>> {
  const begin = performance.now();
  const other = async (): Promise<number> => busyMs() - (await serverMs(process.pid));
  const before = await other();
  return async () => Math.max(0, (await other()) - before) / (performance.now() - begin);
}
