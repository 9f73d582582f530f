import type { EngineOutcome, SearchOutcome } from './measure-search.ts';
import { SPELLINGS, type Spelling } from './title-queries.ts';

const NAME = 18;
const COLUMN = 12;
const MOST_REFUSED = 10;

export function reportText(outcome: SearchOutcome): string {
  const { machine, listings, merchants, refused, needs, engines } = outcome;
  const lines = [
    `${machine.cores} cores (${machine.cpu}), ${machine.memory_gib} GiB, node ${machine.node}`,
    `${listings} listings of ${merchants} merchants; ${refused.length} skills refused`,
    ...refused.slice(0, MOST_REFUSED).map(({ id, why }) => `  ${id} ${why}`),
    ...noteLines(outcome),
    '',
    row(`${needs} needs`, ['recall@10', 'recall@3', 'MRR@10', 'very one', 'no result']),
    ...engines.map(({ engine, needs: scores }) => {
      const { recall_10, recall_3, mrr_10, best_10, none } = scores;
      return row(engine, [recall_10, recall_3, mrr_10, best_10, none].map(formatShare));
    }),
    ...titleLines(outcome),
    ...engines.flatMap(detailLines),
  ];
  return `${lines.join('\n')}\n`;
}

function noteLines({ cut_needs, unknown_ids }: SearchOutcome): string[] {
  return [
    ...(cut_needs === 0
      ? []
      : [`${cut_needs} needs are longer than a query may be; the market was asked a part of them`]),
    ...(unknown_ids.length === 0
      ? []
      : [`${unknown_ids.length} right ids are not in the corpus: ${unknown_ids[0]}, ...`]),
  ];
}

function titleLines({ engines, titles, seed }: SearchOutcome): string[] {
  if (titles === 0) return [];
  const ofSpelling = (spelling: Spelling): string[] =>
    engines.flatMap(({ engine, titles: scores }) => {
      if (scores === null) return [];
      const { first, in_ten, none } = scores[spelling];
      return [row(`  ${engine}`, [first, in_ten, none].map(String))];
    });
  return [
    '',
    `${row(`${titles} titles`, ['first', 'in ten', 'no result'])}   (seed ${seed})`,
    ...SPELLINGS.flatMap((spelling) => [spelling, ...ofSpelling(spelling)]),
  ];
}

function detailLines({ engine, details }: EngineOutcome): string[] {
  if (details === null) return [];
  return [
    '',
    `${engine}: place of the right listing`,
    ...[...details.needs, ...details.titles].map(({ q, right, results }) => {
      const place = right === null ? `not in ${results}` : String(right);
      return `${place.padStart(COLUMN)}  ${q}`;
    }),
  ];
}

function row(name: string, cells: readonly string[]): string {
  return name.padEnd(NAME) + cells.map((cell) => cell.padStart(COLUMN)).join('');
}

function formatShare(share: number | null): string {
  return share === null ? '-' : share.toFixed(3);
}
