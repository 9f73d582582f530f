import { giveWay } from '../../../platform/give-way.ts';

const SLICE = 50;

/** Ids from 1 to `last`. The next range is asked for before this one is worked on, so that database and process work side by side. */
export async function eachRange<Row>(
  { last, size }: { last: bigint; size: number },
  read: (above: bigint, upTo: bigint) => Promise<Row[]>,
  act: (row: Row) => void,
  /** Called after each range with its last id. False: that is enough. */
  goesOn: (upTo: number) => boolean,
): Promise<void> {
  const step = BigInt(size);
  const ask = (above: bigint): Promise<Row[]> | null => {
    if (above >= last) return null;
    const asked = read(above, above + step);
    // Whoever waits for it may never come to, where the work on the one before throws.
    asked.catch(() => {});
    return asked;
  };
  let asked = ask(0n);
  for (let above = step; asked !== null; above += step) {
    const rows = await asked;
    asked = ask(above);
    for (let from = 0; from < rows.length; from += SLICE) {
      // So that the next range is asked for, and what has come of it taken off the line.
      await giveWay();
      for (const row of rows.slice(from, from + SLICE)) act(row);
    }
    if (!goesOn(Number(above < last ? above : last))) return;
  }
}
