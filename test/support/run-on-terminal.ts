import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

export interface TerminalRun {
  code: number | null;
  /** Everything that stood on the screen. */
  screen: string;
}

/** The command line on a terminal of its own (that of util-linux’ `script`): each answer is typed once its question stands there. */
export async function runOnTerminal(
  args: readonly string[],
  answers: readonly (readonly [question: string, answer: string])[],
  env: Record<string, string>,
): Promise<TerminalRun> {
  const command = [process.execPath, MAIN, ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qec', command, '/dev/null'], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const open = [...answers];
  let screen = '';
  let asked = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
    asked += text;
    const [next] = open;
    if (next === undefined || !asked.includes(next[0])) return;
    open.shift();
    asked = '';
    child.stdin.write(`${next[1]}\r`);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, screen };
}
