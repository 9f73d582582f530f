import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

/** The Inspector's command line. It is run from where its package has it, and looks for nothing that an install script would fetch. */
export async function inspect(url: string, era: Era, args: readonly string[]): Promise<InspectorRun> {
  const home = await mkdtemp(join(tmpdir(), 'openaisle-inspector-'));
  try {
    const { code, seconds, stdout, stderr } = await runJudge(
      'inspector/clients/launcher/build/index.js',
      ['--cli', url, '--transport', 'http', '--protocol-era', era, '--format', 'json', '--stored-auth-only', ...args],
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
