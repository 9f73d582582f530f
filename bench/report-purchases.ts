import { median } from './load.ts';
import { type Bought, type Purchases, type Round, SELLERS, type SellerName } from './measure-purchases.ts';
import { LEVELS } from './settings.ts';

type Figure = (round: Round) => number;

type ChainName = 'requests' | 'calls' | 'bytes';

const WIDTH = 52;
const COLUMN = 12;
const SALES = 1_000;

/** Returns the report with one column per level. */
export function purchaseLines({ rounds, foreignPerBlock, books }: Purchases): string[] {
  const row = createRow(rounds);
  return [
    `Buying    medians of interleaved rounds; the chain carried ${foreignPerBlock.toFixed(0)} transfers of strangers a block`,
    line(
      'at once',
      LEVELS.map(({ atOnce }) => String(atOnce)),
    ),
    ...speedRows(row),
    ...costRows(row, rounds),
    '',
    `          what ${SALES.toLocaleString('en')} sales cost an operator`,
    row('  requests to the chain', (round) => SALES * chainSum(round.market, 'requests'), 0),
    row('  calls in them', (round) => SALES * chainSum(round.market, 'calls'), 0),
    row('  gas, in millions', (round) => (SALES * round.market.gas) / 1e6, 1),
    row('  written to disk, MB', (round) => (SALES * writtenBy(round.market)) / 1e6, 1),
    row('  kept in the database, MB', (round) => (SALES * spentBy(round.market, 'databaseBytes')) / 1e6, 1),
    '',
    ...SELLERS.map((name) => `          answers of ${nameOf(name)}: ${answersOf(rounds, name)}`),
    ...SELLERS.map((name) => {
      const { delivered, ordered, paidOnce } = books[name];
      return `          books of ${nameOf(name)}: ${delivered} of ${ordered} delivered, ${paidOnce} of them paid exactly once`;
    }),
    ...books.faults.map((fault) => `          WRONG: ${fault}`),
  ];
}

function speedRows(row: ReturnType<typeof createRow>): string[] {
  return [
    row('purchases/s, market', (round) => round.market.perSecond, 1),
    row('purchases/s, stock seller', (round) => round.stock.perSecond, 1),
    row("the chain's own transfers/s", (round) => round.transfersPerSecond, 0),
    row('ratio, market to stock seller', (round) => round.market.perSecond / round.stock.perSecond, 2),
    row('ratio, market to transfers', (round) => round.market.perSecond / round.transfersPerSecond, 4),
    row('cores that other programs took', (round) => round.otherCores, 2),
    row('first answer, ms, market', (round) => median(round.market.firstAnswerMs), 0),
    row('first answer, ms, stock seller', (round) => median(round.stock.firstAnswerMs), 0),
    row('  worst, market', (round) => Math.max(...round.market.firstAnswerMs), 0),
    row('  worst, stock seller', (round) => Math.max(...round.stock.firstAnswerMs), 0),
    row('goods, ms, market', (round) => median(round.market.deliveredMs), 0),
    row('goods after the final block, ms, market', (round) => median(round.market.goodsDelayMs), 0),
    row('  worst', (round) => Math.max(...round.market.goodsDelayMs), 0),
  ];
}

function costRows(row: ReturnType<typeof createRow>, rounds: readonly Round[]): string[] {
  const both = (name: ChainName, digits: number): string[] => [
    row(`chain ${name}`, (round) => chainSum(round.market, name), digits),
    row('  market', (round) => spentBy(round.market, `market.${name}`), digits),
    row('  facilitator', (round) => spentBy(round.market, `facilitator.${name}`), digits),
    row('  of the stock facilitator', (round) => spentBy(round.stock, `facilitator.${name}`), digits),
  ];
  const spent = (label: string, name: string, digits: number): string =>
    row(label, (round) => spentBy(round.market, name), digits);
  const methods = methodsOf(rounds).flatMap((method) =>
    (['market', 'facilitator'] as const).flatMap((part) => methodRows(row, rounds, part, method)),
  );
  return [
    '',
    '          on one purchase',
    ...both('requests', 1),
    ...both('calls', 1),
    ...both('bytes', 0),
    ...methods,
    spent('CPU ms, market', 'marketMs', 1),
    spent('CPU ms, facilitator', 'facilitatorMs', 1),
    spent('CPU ms, backends of PostgreSQL', 'databaseMs', 1),
    row('CPU ms, stock seller', (round) => spentBy(round.stock, 'marketMs'), 1),
    row('CPU ms, stock facilitator', (round) => spentBy(round.stock, 'facilitatorMs'), 1),
    spent('statements', 'statements', 1),
    spent('commits that write', 'commits', 1),
    spent('bytes of WAL', 'walBytes', 0),
    spent('bytes written by the facilitator', 'journalBytes', 0),
    row('gas of the settlement', (round) => round.market.gas, 0),
  ];
}

/** Returns the rows with calls and bytes of one method, if there are any. */
function methodRows(
  row: ReturnType<typeof createRow>,
  rounds: readonly Round[],
  part: 'market' | 'facilitator',
  method: string,
): string[] {
  if (!rounds.some(({ market }) => spentBy(market, `${part}.calls ${method}`) > 0)) return [];
  return [
    row(`  ${method}, ${part}`, (round) => spentBy(round.market, `${part}.calls ${method}`), 2),
    row('    bytes', (round) => spentBy(round.market, `${part}.bytes ${method}`), 0),
  ];
}

function methodsOf(rounds: readonly Round[]): string[] {
  const names = rounds.flatMap(({ market }) => Object.keys(market.spent));
  return [...new Set(names.flatMap((name) => /^\w+\.calls (\w+)$/.exec(name)?.[1] ?? []))].sort();
}

function spentBy({ spent }: Bought, name: string): number {
  return spent[name] ?? 0;
}

function chainSum(bought: Bought, name: ChainName): number {
  return spentBy(bought, `market.${name}`) + spentBy(bought, `facilitator.${name}`);
}

function writtenBy(bought: Bought): number {
  return spentBy(bought, 'walBytes') + spentBy(bought, 'journalBytes');
}

/** Makes a function that formats a row with the median of the rounds at each level. */
function createRow(rounds: readonly Round[]): (label: string, figure: Figure, digits: number) => string {
  return (label, figure, digits) =>
    line(
      label,
      LEVELS.map(({ atOnce }) =>
        median(rounds.filter((round) => round.atOnce === atOnce).map(figure)).toLocaleString('en', {
          minimumFractionDigits: digits,
          maximumFractionDigits: digits,
        }),
      ),
    );
}

function line(label: string, columns: readonly string[]): string {
  return `          ${label.padEnd(WIDTH)}${columns.map((column) => column.padStart(COLUMN)).join('')}`;
}

function nameOf(name: SellerName): string {
  return name === 'market' ? 'the market' : 'the stock seller';
}

function answersOf(rounds: readonly Round[], name: SellerName): string {
  const counts = new Map<string, number>();
  for (const round of rounds) {
    for (const [answer, count] of Object.entries(round[name].answers)) {
      counts.set(answer, (counts.get(answer) ?? 0) + count);
    }
  }
  return [...counts].map(([answer, count]) => `${answer}: ${count}`).join(', ');
}
