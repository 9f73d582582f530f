import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runJudge } from './mcp-judge.ts';

/** How a client talks: by the 2026 revision alone, or with `initialize` first. */
export const ERAS = ['modern', 'legacy'] as const;
export type Era = (typeof ERAS)[number];

/** What the Inspector exits with when a tool answered that it could not. */
export const TOOL_ERROR = 5;

export interface InspectorRun {
  code: number | null;
  seconds: number;
  /** What the server answered, as the Inspector understood it. */
  result: Record<string, unknown>;
  stderr: string;
}

const CLI = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

/** The Inspector over a process of its own that runs `openaisle mcp` with these variables. */
export async function inspectCommand(
  env: Readonly<Record<string, string>>,
  era: Era,
  args: readonly string[],
): Promise<InspectorRun> {
  const variables = Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  return await runInspector([...variables, '--transport', 'stdio', ...args], era, [process.execPath, CLI, 'mcp']);
}

/** The Inspector's command line. It is run from where its package has it, and looks for nothing that an install script would fetch. */
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

/** One tool; the arguments are sent as they are. */
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
