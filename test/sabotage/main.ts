/** Puts bugs into the money core, one at a time and each in its own copy, and reports whether a test notices them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { startEmbeddedPostgres } from '../../src/platform/database/embedded.ts';
import { SABOTAGES } from './list.ts';
import { makeCopies } from './make-copies.ts';
import { runTests, type Tried, trySabotage } from './run-tests.ts';
import type { Sabotage } from './sabotage.ts';

const HELP = `Puts ${SABOTAGES.length} bugs into copies of the money core, one at a time, and runs the tests that have to notice.

  npm run test:sabotage -- [options]

  --only NAME    this one; may be given more than once
  --list         the names, and nothing else
  --side N       how many copies side by side (2)
  --json         one JSON object a line
  --help         this text
Exit code 0: a test noticed each of them. 1: not so, or the tests fail without any bug. 2: wrong arguments.
`;
const MAX_SIDE_BY_SIDE = 16;
const PLAIN_DEADLINE_MS = 1_800_000;
const DEADLINE_MS = 240_000;

interface Chosen {
  sabotages: readonly Sabotage[];
  side: number;
  json: boolean;
}

function readChoice(): Chosen {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      list: { type: 'boolean', default: false },
      side: { type: 'string', default: '2' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) exitWith(HELP);
  if (values.list) exitWith(SABOTAGES.map(({ name }) => `${name}\n`).join(''));
  const only = values.only ?? SABOTAGES.map(({ name }) => name);
  const unknown = only.find((name) => !SABOTAGES.some((one) => one.name === name));
  if (unknown !== undefined) throw new Error(`--only: there is no ${unknown}`);
  const side = Number(values.side);
  if (!Number.isInteger(side) || side < 1 || side > MAX_SIDE_BY_SIDE)
    throw new Error('--side must be a number from 1 to 16');
  return { sabotages: SABOTAGES.filter(({ name }) => only.includes(name)), side, json: values.json };
}

function exitWith(text: string): never {
  process.stdout.write(text);
  process.exit(0);
}

function printOutcome({ json }: Chosen, tried: Tried): void {
  const { name, outcome, by, seconds } = tried;
  if (json) {
    process.stdout.write(`${JSON.stringify(tried)}\n`);
    return;
  }
  const spelled = outcome === 'caught' ? outcome : outcome.toUpperCase();
  const arrow = outcome === 'caught' ? '<-' : '--';
  const beside = by === null ? '' : `  ${arrow} ${by}`;
  process.stdout.write(`${spelled}  ${name}${beside}  ${Math.round(seconds)} s\n`);
}

/** Returns whether every bug was noticed. */
async function tryAll(chosen: Chosen, root: string, databaseUrl: string, signal: AbortSignal): Promise<boolean> {
  const copies = await makeCopies(root);
  try {
    const files = [...new Set(chosen.sabotages.flatMap(({ tests }) => tests))];
    const running = { databaseUrl, signal, bail: true, workers: 1, deadlineMs: DEADLINE_MS };
    const plain = await runTests(copies.plain, files, {
      ...running,
      bail: false,
      workers: chosen.side,
      deadlineMs: PLAIN_DEADLINE_MS,
    });
    const faults = [...plain.failures.map(({ test, said }) => `${test}: ${said}`), ...plain.trouble];
    for (const fault of faults) process.stderr.write(`fails without any bug: ${fault}\n`);
    if (faults.length > 0 || plain.passed === 0) return false;
    if (!chosen.json)
      process.stdout.write(`${plain.passed} tests pass without any bug  ${Math.round(plain.seconds)} s\n`);
    const waiting = [...chosen.sabotages];
    const results: Tried[] = [];
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined && !signal.aborted; next = waiting.shift()) {
        const tried = await trySabotage(copies, next, running);
        if (signal.aborted) return;
        results.push(tried);
        printOutcome(chosen, tried);
      }
    };
    await Promise.all(Array.from({ length: chosen.side }, work));
    const caught = results.filter(({ outcome }) => outcome === 'caught').length;
    const of = chosen.sabotages.length;
    process.stdout.write(chosen.json ? `${JSON.stringify({ caught, of })}\n` : `${caught} of ${of}\n`);
    return caught === of;
  } finally {
    await copies.dropAll();
  }
}

async function main(chosen: Chosen): Promise<boolean> {
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort());
  const dataDir = await mkdtemp(join(tmpdir(), 'openaisle-sabotage-db-'));
  // All runs share one server, and each creates its own databases.
  const postgres = await startEmbeddedPostgres({ dataDir });
  try {
    return await tryAll(chosen, resolve(import.meta.dirname, '../..'), postgres.url, stopping.signal);
  } finally {
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

let chosen: Chosen;
try {
  chosen = readChoice();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
  process.exit(2);
}
process.exitCode = (await main(chosen)) ? 0 : 1;
