import { MAX_MS } from '../../test/support/bounds/bounds-world.ts';
import type { Honest } from '../../test/support/honest-clients.ts';
import type { HonestOutcome } from './measure-honest.ts';
import { type Row, tooDear } from './measure-table.ts';

export interface Outcome {
  /** Null if not measured. */
  table: Row[] | null;
  honest: HonestOutcome | null;
}

export function reportText({ table, honest }: Outcome): string {
  return [...(table === null ? [] : tableLines(table)), ...(honest === null ? [] : honestLines(honest))].join('\n');
}

function tableLines(rows: readonly Row[]): string[] {
  const dear = tooDear(rows);
  const over = dear.map(({ site, endpoint }) => `${site} ${endpoint}`).join(', ');
  return [
    '| Site | Endpoint | Requests | Largest, bytes | Dearest content | Its answer | CPU, ms |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...rows.map(rowLine),
    '',
    `At most ${MAX_MS} ms each, except where goods are compared: ${over === '' ? 'all within it' : `over it ${over}`}.`,
    '',
  ];
}

function rowLine({ site, endpoint, requests, largest_bytes, worst, exempt }: Row): string {
  const answer = `${worst.status === 0 ? 'cut' : worst.status}${worst.reason === null ? '' : ` \`${worst.reason}\``}`;
  const ms = `${worst.ms.toFixed(1)}${exempt === null ? '' : ` (${exempt})`}`;
  return `| ${[site, `\`${endpoint}\``, requests, largest_bytes, worst.content, answer, ms].join(' | ')} |`;
}

function honestLines({ without, beside }: HonestOutcome): string[] {
  return [
    '| Honest clients | Requests | Refused or broken off | Answers over 1 s | Share of both | Slowest, ms |',
    '| --- | --- | --- | --- | --- | --- |',
    honestLine('alone', without),
    honestLine(`beside ${beside.attacks} hostile requests`, beside),
    '',
  ];
}

function honestLine(name: string, { answered, refused, slow, slowestMs }: Honest): string {
  const share = answered === 0 ? 'none' : `${((100 * (slow + refused.length)) / answered).toFixed(2)} %`;
  return `| ${[name, answered, refused.length, slow, share, Math.round(slowestMs)].join(' | ')} |`;
}
