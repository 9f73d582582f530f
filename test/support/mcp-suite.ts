import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type JudgeRun, type OnLine, runJudge } from './mcp-judge.ts';

export const REVISIONS = ['2026-07-28', '2025-11-25'] as const;
export type Revision = (typeof REVISIONS)[number];

export interface Check {
  scenario: string;
  id: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'INFO' | 'SKIPPED';
  errorMessage?: string;
  details?: { untestable?: boolean };
}

export interface SuiteRun extends JudgeRun {
  checks: Check[];
}

/** The official conformance suite. What it found is read from its files: what it prints leaves warnings out. */
export async function runSuite(args: readonly string[], onLine?: OnLine): Promise<SuiteRun> {
  const home = await mkdtemp(join(tmpdir(), 'openaisle-suite-'));
  try {
    const all = [...args, '--output-dir', join(home, 'out')];
    const run = await runJudge('conformance/dist/index.js', all, { home, ...(onLine === undefined ? {} : { onLine }) });
    return { ...run, checks: await readChecks(join(home, 'out')) };
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** One folder for each scenario: the side that is judged, the scenario, the time. */
const FOLDER = /^(?:authorization-server|server)-(?<scenario>.+)-\d{4}-\d{2}-\d{2}T[\d-]+Z$/;

async function readChecks(folder: string): Promise<Check[]> {
  // It makes the folder with its first scenario, and there may have been none.
  const names = await readdir(folder).catch((): string[] => []);
  const read = names.map(async (name) => {
    const scenario = FOLDER.exec(name)?.groups?.['scenario'];
    if (scenario === undefined) throw new Error(`the suite names its folders in another way: ${name}`);
    const checks: Omit<Check, 'scenario'>[] = JSON.parse(await readFile(join(folder, name, 'checks.json'), 'utf8'));
    return checks.map((check) => ({ ...check, scenario }));
  });
  return (await Promise.all(read)).flat();
}

const REQUIREMENTS = new URL('../../node_modules/@modelcontextprotocol/conformance/requirements/', import.meta.url);

/** What a server has to pass for a revision, by the suite's own frozen list. */
export async function scoredScenarios(revision: Revision): Promise<string[]> {
  const text = await readFile(new URL(`${revision}.yaml`, REQUIREMENTS), 'utf8');
  const [, list = ''] = /^server:\n((?: {2}- .+\n)+)/m.exec(text) ?? [];
  return list.split('\n').flatMap((line) => (line === '' ? [] : [line.slice('  - '.length)]));
}

/** What is wrong: a failure, or a warning, which the suite itself lets pass. */
export function faultsOf(checks: readonly Check[]): string[] {
  return checks
    .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    .map(({ scenario, id, status, errorMessage = '' }) => `${scenario}: ${id} ${status} ${errorMessage}`);
}

/** Totals and time, and every check that is no success, for who reads the build's log. */
export function reportRun(name: string, { checks, code, seconds }: SuiteRun, scored: readonly string[]): void {
  const tally = (of: readonly Check[]): string =>
    [...Map.groupBy(of, ({ status }) => status)].map(([status, { length }]) => `${length} ${status}`).join(', ');
  const judged = checks.filter(({ scenario }) => scored.includes(scenario));
  const others = checks.filter(({ scenario }) => !scored.includes(scenario));
  const short = Map.groupBy(
    others.filter(({ status }) => status !== 'SUCCESS'),
    ({ scenario }) => scenario,
  );
  const lines = [
    `${name}: exit ${code}, ${seconds.toFixed(1)} s, ${new Set(judged.map(({ scenario }) => scenario)).size} scenarios: ${tally(judged)}`,
    ...judged.flatMap(({ scenario, id, status }) => (status === 'SUCCESS' ? [] : [`  ${status} ${scenario}: ${id}`])),
    ...(others.length === 0 ? [] : [`  not judged: ${tally(others)}`]),
    ...[...short].map(([scenario, of]) => `    ${scenario}: ${tally(of)}`),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}
