import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const PACKAGES = new URL('../../node_modules/@modelcontextprotocol/', import.meta.url);
/** Timeout, more than five times the slowest run. A program that hangs is killed, and its test fails. */
const LONGEST_MS = 60_000;

interface JudgeRun {
  /** Exit code. Null if the program was killed. */
  code: number | null;
  seconds: number;
  stdout: string;
  stderr: string;
}

/** Receives every printed line. If it throws, the program is ended and the run fails. */
type OnLine = (line: string) => Promise<void>;

/** Runs one of the protocol's own programs with an empty home and none of our environment. */
async function runJudge(
  script: string,
  args: readonly string[],
  { home, onLine }: { home: string; onLine?: OnLine },
): Promise<JudgeRun> {
  const begun = performance.now();
  const child = spawn(process.execPath, [fileURLToPath(new URL(script, PACKAGES)), ...args], {
    env: { PATH: process.env['PATH'] ?? '', HOME: home, NO_COLOR: '1' },
    cwd: home,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LONGEST_MS,
    killSignal: 'SIGKILL',
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const told: Promise<void>[] = [];
  const failures: unknown[] = [];
  const failed = (failure: unknown): void => {
    failures.push(failure);
    child.kill('SIGKILL');
  };
  if (onLine !== undefined) {
    createInterface({ input: child.stdout }).on('line', (line) => void told.push(onLine(line).catch(failed)));
  }
  const [code] = (await once(child, 'close')) as [number | null];
  await Promise.all(told);
  if (failures.length > 0) throw failures[0];
  return { code, seconds: (performance.now() - begun) / 1_000, stdout, stderr };
}

const REVISIONS = ['2026-07-28', '2025-11-25'] as const;
export type Revision = (typeof REVISIONS)[number];

export interface Check {
  scenario: string;
  id: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'INFO' | 'SKIPPED';
  errorMessage?: string;
  details?: { untestable?: boolean };
}

interface SuiteRun extends JudgeRun {
  checks: Check[];
}

/** Runs the official conformance suite. Reads its result files, because its output leaves warnings out. */
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

/** Matches the folder of a scenario: the tested side, the scenario, the time. */
const FOLDER = /^(?:authorization-server|server)-(?<scenario>.+)-\d{4}-\d{2}-\d{2}T[\d-]+Z$/;

async function readChecks(folder: string): Promise<Check[]> {
  // The suite creates the folder with its first scenario, so it may not exist.
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

/** Returns the scenarios that a server must pass for a revision, according to the suite's own frozen list. */
export async function scoredScenarios(revision: Revision): Promise<string[]> {
  const text = await readFile(new URL(`${revision}.yaml`, REQUIREMENTS), 'utf8');
  const [, list = ''] = /^server:\n((?: {2}- .+\n)+)/m.exec(text) ?? [];
  return list.split('\n').flatMap((line) => (line === '' ? [] : [line.slice('  - '.length)]));
}

/** Returns failures and warnings. The suite itself ignores warnings. */
export function faultsOf(checks: readonly Check[]): string[] {
  return checks
    .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    .map(({ scenario, id, status, errorMessage = '' }) => `${scenario}: ${id} ${status} ${errorMessage}`);
}

/** Prints totals, time and every unsuccessful check to the build's log. */
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

/** Protocol of a client: the 2026 revision only, or legacy with `initialize` first. */
export const ERAS = ['modern', 'legacy'] as const;
type Era = (typeof ERAS)[number];

/** Exit code of the Inspector when a tool returned an error. */
export const TOOL_ERROR = 5;

interface InspectorRun {
  code: number | null;
  seconds: number;
  /** The server's answer as the Inspector parsed it. */
  result: Record<string, unknown>;
  stderr: string;
}

const CLI = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

/** Runs the Inspector on a process of `openaisle mcp` with these environment variables. */
export async function inspectCommand(
  env: Readonly<Record<string, string>>,
  era: Era,
  args: readonly string[],
): Promise<InspectorRun> {
  const variables = Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  return await runInspector([...variables, '--transport', 'stdio', ...args], era, [process.execPath, CLI, 'mcp']);
}

/** Runs the Inspector's CLI from its package folder, without the files that an install script would fetch. */
export async function inspect(url: string, era: Era, args: readonly string[]): Promise<InspectorRun> {
  return await runInspector(['--transport', 'http', '--stored-auth-only', ...args], era, [url]);
}

async function runInspector(args: readonly string[], era: Era, target: readonly string[]): Promise<InspectorRun> {
  const home = await mkdtemp(join(tmpdir(), 'openaisle-inspector-'));
  try {
    const { code, seconds, stdout, stderr } = await runJudge(
      'inspector/clients/launcher/build/index.js',
      ['--cli', ...target, '--protocol-era', era, '--format', 'json', ...args],
      { home },
    );
    const said: { result?: Record<string, unknown> } = stdout === '' ? {} : JSON.parse(stdout);
    return { code, seconds, stderr, result: said.result ?? {} };
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** Calls one tool. Arguments are sent unchanged. */
export async function inspectTool(
  url: string,
  era: Era,
  name: string,
  given: Readonly<Record<string, unknown>> = {},
  more: readonly string[] = [],
): Promise<InspectorRun> {
  const call = ['--method', 'tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(given)];
  return await inspect(url, era, [...call, ...more]);
}
