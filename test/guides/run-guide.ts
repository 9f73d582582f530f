import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const exec = promisify(execFile);
const BLOCK_MS = 120_000;
const FENCE = /^```(.*)\n([\s\S]*?)^```$/gm;
/** Matches the file name in a program's first line. */
const NAMED = /^\/\/ ([\w.-]+\.(?:mjs|cjs|mts))\n/;
const INSTALL = /^npm install (.+)\n/gm;
const REST = '…';

const LANGUAGES = ['sh', 'js', 'ts', 'text', 'json'] as const;
type Language = (typeof LANGUAGES)[number];

export interface Block {
  language: Language;
  code: string;
  /** Line number of the fence in its document. */
  line: number;
  /** Name of a program's file. Null for other blocks. */
  file: string | null;
}

/** Returns the blocks of a document. Throws on an unknown language or a program without a name. */
export function blocksOf(markdown: string): Block[] {
  return [...markdown.matchAll(FENCE)].map(({ 1: given = '', 2: code = '', index }) => {
    const line = markdown.slice(0, index).split('\n').length;
    const language = LANGUAGES.find((known) => known === given);
    if (language === undefined) throw new Error(`line ${line}: a block of “${given}” is neither run nor compared`);
    const isProgram = language === 'js' || language === 'ts';
    const [, file = null] = NAMED.exec(code) ?? [];
    if (isProgram && file === null) throw new Error(`line ${line}: a program without its file name`);
    return { language, code, line, file: isProgram ? file : null };
  });
}

export function installedBy(blocks: readonly Block[]): string[] {
  const lines = blocks.flatMap(({ language, code }) => (language === 'sh' ? [...code.matchAll(INSTALL)] : []));
  const words = lines.flatMap(([, given = '']) => given.split(' '));
  return [...new Set(words.filter((word) => !word.startsWith('-')))];
}

/** Lists packages and files that are used without being installed or written, and programs that never run. */
export function lackingIn(blocks: readonly Block[]): string[] {
  const installed = installedBy(blocks);
  const programs = blocks.filter(({ file }) => file !== null);
  const commands = blocks.filter(({ language }) => language === 'sh').map(({ code }) => code);
  const imported = programs.flatMap(({ code }) =>
    [...code.matchAll(/(?:from |require\()'((?:@[\w-]+\/)?[\w-]+)(?:\/[\w/-]+)?'/g)].map(([, name = '']) => name),
  );
  const called = commands.some((code) => /^openaisle /m.test(code)) ? ['openaisle'] : [];
  const texts = [...commands, ...programs.map(({ code }) => code)];
  const idle = programs.flatMap(({ file }) =>
    texts.some((text) => text.includes(` ${file}`) && !text.startsWith(`// ${file}`)) ||
    texts.some((text) => text.includes(`'./${file}'`))
      ? []
      : [`${file} is not run`],
  );
  return [...[...imported, ...called].filter((name) => !installed.includes(name)), ...idle];
}

/**
 * Returns the first shown part that is missing from the output in this order. Null if none is. `…` matches anything; white space is
 * ignored.
 */
export function missingFrom(output: string, shown: string): string | null {
  const squeezed = output.replaceAll(/\s/g, '');
  let at = 0;
  for (const line of shown.split('\n')) {
    for (const part of line.split(REST).map((text) => text.replaceAll(/\s/g, ''))) {
      const found = squeezed.indexOf(part, at);
      if (found < 0) return `${line} (at “${part}”)`;
      at = found + part.length;
    }
  }
  return null;
}

export interface Setting {
  /** Home folder of the reader. Commands run in its folder `project` unless `cwd` is given. */
  home: string;
  cwd?: string;
  env: Record<string, string>;
  /** Replacements for the document's addresses in this run. */
  here: Record<string, string>;
  input?: string;
  /** Does the person's part before a block runs. */
  before?(code: string): Promise<void>;
  after?(code: string): Promise<void>;
  check?(path: string): Promise<void>;
}

/** Runs a document in order as one reader and returns the output of command blocks. Throws if a block does not do what is shown. */
export async function runGuide(blocks: readonly Block[], setting: Setting): Promise<string[]> {
  const cwd = setting.cwd ?? join(setting.home, 'project');
  await mkdir(cwd, { recursive: true });
  const outputs: string[] = [];
  for (const { language, code: given, line, file } of blocks) {
    const code = Object.entries(setting.here).reduce((text, [from, to]) => text.replaceAll(from, to), given);
    if (file !== null) {
      await writeFile(join(cwd, file), code);
      await setting.check?.(join(cwd, file));
    } else if (language === 'sh') {
      await setting.before?.(code);
      outputs.push(await runShell(code.replaceAll(INSTALL, ''), { ...setting, cwd }, line));
      await setting.after?.(code);
    } else {
      const output = outputs.at(-1);
      if (output === undefined) throw new Error(`line ${line}: output of no command`);
      const missing = missingFrom(output, code);
      if (missing !== null) throw new Error(`line ${line}: ${missing} did not come, but\n${output}`);
    }
  }
  return outputs;
}

/** Runs a block in a shell that keeps variables exported by earlier blocks. Returns its output, including errors. */
async function runShell(code: string, { home, cwd, env, input = '' }: Setting, line: number): Promise<string> {
  const kept = join(home, '.exported');
  const script = `exec 2>&1\nset -eo pipefail\nif [ -f '${kept}' ]; then . '${kept}'; fi\n${code}\nexport -p > '${kept}'\n`;
  const running = exec('bash', ['-c', script], { cwd, env: { ...env, HOME: home }, timeout: BLOCK_MS });
  // A block that does not read its input may have exited by then.
  running.child.stdin?.on('error', () => {});
  running.child.stdin?.end(input);
  try {
    return (await running).stdout;
  } catch (error) {
    const said = error instanceof Error && 'stdout' in error ? String(error.stdout) : '';
    throw new Error(`line ${line} did not end well: ${said}`, { cause: error });
  }
}
