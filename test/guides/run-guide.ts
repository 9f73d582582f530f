import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const exec = promisify(execFile);
const BLOCK_MS = 120_000;
const FENCE = /^```(.*)\n([\s\S]*?)^```$/gm;
/** Programs, by the comment in their first line. */
const NAMED = /^\/\/ ([\w.-]+\.(?:mjs|cjs|mts))\n/;
const INSTALL = /^npm install (.+)\n/gm;
const REST = '…';

const LANGUAGES = ['sh', 'js', 'ts', 'text', 'json'] as const;
type Language = (typeof LANGUAGES)[number];

export interface Block {
  language: Language;
  code: string;
  /** Of the fence in its document. */
  line: number;
  /** Of a program; null for what is no program. */
  file: string | null;
}

/** The blocks of a document. Throws where one is of no known language, or a program without a name. */
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

/** What the document has its reader install from npm. */
export function installedBy(blocks: readonly Block[]): string[] {
  const lines = blocks.flatMap(({ language, code }) => (language === 'sh' ? [...code.matchAll(INSTALL)] : []));
  const words = lines.flatMap(([, given = '']) => given.split(' '));
  return [...new Set(words.filter((word) => !word.startsWith('-')))];
}

/** What programs and commands use, and the reader was not told to install; programs that are never run. */
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

/** The first part of what is shown that did not come, in its place, or null. `…` stands for anything; white space does not count. */
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
  /** The home of the reader; commands run in `project` of it, unless `cwd` says where. */
  home: string;
  cwd?: string;
  env: Record<string, string>;
  /** Addresses of the document, and what they are here. */
  here: Record<string, string>;
  /** What is typed, for those blocks that read. */
  input?: string;
  /** What a person does meanwhile. */
  before?(code: string): Promise<void>;
  after?(code: string): Promise<void>;
  /** Looks at a program before it is run. */
  check?(path: string): Promise<void>;
}

/**
 * Runs a document from top to bottom, as one reader would, and throws where a block does not do what stands there. Gives what each block of
 * commands wrote.
 */
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

/** One block, in a shell that knows what the blocks before have exported. Gives what it wrote, errors too. */
async function runShell(code: string, { home, cwd, env, input = '' }: Setting, line: number): Promise<string> {
  const kept = join(home, '.exported');
  const script = `exec 2>&1\nset -eo pipefail\nif [ -f '${kept}' ]; then . '${kept}'; fi\n${code}\nexport -p > '${kept}'\n`;
  const running = exec('bash', ['-c', script], { cwd, env: { ...env, HOME: home }, timeout: BLOCK_MS });
  // A block that reads nothing may be over by then.
  running.child.stdin?.on('error', () => {});
  running.child.stdin?.end(input);
  try {
    return (await running).stdout;
  } catch (error) {
    const said = error instanceof Error && 'stdout' in error ? String(error.stdout) : '';
    throw new Error(`line ${line} did not end well: ${said}`, { cause: error });
  }
}
