import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { OFFER_STEPS } from '../city/offers/offer-steps.ts';
import { CHECKOUT_STATES, DRAFT_STATES, OFFER_PHASES } from '../contract/world-records.ts';
import { DRAFT_STEPS } from '../market/world/drafts/store.ts';
import { CHECKOUT_STEPS } from '../market/world/store.ts';

interface Table {
  title: string;
  source: string;
  says: string;
  states: readonly string[];
  steps: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

const TABLES: readonly Table[] = [
  {
    title: 'An offer in the city',
    source: 'src/city/offers/offer-steps.ts',
    says: 'The thing is locked in all phases but `claimed` and `canceled`.',
    states: OFFER_PHASES,
    steps: OFFER_STEPS,
  },
  {
    title: 'A draft on the market',
    source: 'src/market/world/drafts/store.ts',
    says: 'A draft lasts one hour, or longer while its fee is in progress.',
    states: DRAFT_STATES,
    steps: DRAFT_STEPS,
  },
  {
    title: 'A checkout on the market',
    source: 'src/market/world/store.ts',
    says: 'A checkout lasts ten minutes and reserves nothing.',
    states: CHECKOUT_STATES,
    steps: CHECKOUT_STEPS,
  },
];

export function renderWorldStates(): string {
  const head = [
    '# States of a sale in the world aisle',
    '',
    '`npm run docs` draws these diagrams from the tables that the code uses. Database triggers enforce the same steps, and tests compare the two.',
    'Only the steps shown are allowed. A state without an outgoing step is final.',
  ];
  return `${[...head, ...TABLES.flatMap(drawTable)].join('\n')}\n`;
}

function drawTable({ title, source, says, states, steps }: Table): string[] {
  const arrows = Object.entries(steps).flatMap(([act, ways]) =>
    Object.entries(ways).map(([from, to]) => ({ act, from, to })),
  );
  const ends = states.filter((state) => !arrows.some(({ from }) => from === state));
  return [
    '',
    `## ${title}`,
    '',
    `From \`${source}\`. ${says}`,
    '',
    '```mermaid',
    'stateDiagram-v2',
    `  [*] --> ${states[0]}`,
    ...arrows.map(({ act, from, to }) => `  ${from} --> ${to}: ${act}`),
    ...ends.map((state) => `  ${state} --> [*]`),
    '```',
  ];
}

// Writes docs/world-states.md. With --check it writes nothing, and fails if the file is out of date.
const file = new URL('../../docs/world-states.md', import.meta.url);

async function writeStates(): Promise<void> {
  const content = renderWorldStates();
  if ((await readFile(file, 'utf8').catch(() => null)) === content) return;
  if (process.argv.includes('--check')) {
    console.error(`${fileURLToPath(file)} is out of date: run npm run docs`);
    process.exitCode = 1;
  } else {
    await writeFile(file, content);
  }
}

// Tests import this file and must not write.
if (import.meta.main) await writeStates();
