import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { cliRuns } from '../../test/world/run-cli.ts';
import { APPEAL_OUTCOMES } from '../contract/appeals.ts';
import { FLAG_TARGETS } from '../contract/feedback.ts';
import { PAGE_SIZES } from '../contract/vocabulary.ts';
import { EXITS } from './cli-error.ts';
import { REVIEW_DECISIONS } from './commands/mod.ts';
import { COMMANDS } from './commands.ts';
import { specOf } from './options.ts';
import { colourLine } from './printable.ts';
import { withCommandTable } from './write-command-table.ts';

const exec = promisify(execFile);

describe('help', () => {
  const cli = cliRuns();

  test('without a word, as a word and as an option it lists every command and ends with 0', async () => {
    const [bare, word, option] = [await cli.run([]), await cli.run(['help']), await cli.run(['--help'])];
    expect([bare.code, bare.stderr]).toEqual([0, '']);
    expect([word, option].map(({ stdout, code }) => [stdout, code])).toEqual([
      [bare.stdout, 0],
      [bare.stdout, 0],
    ]);
    for (const { name, summary } of COMMANDS)
      expect(bare.stdout).toMatch(new RegExp(`^  ${name} +${summary.slice(0, 20)}`, 'm'));
    expect((await cli.run(['help', '--json'])).json()).toEqual({ status: 'ok', help: bare.stdout.trimEnd() });
  });

  test('of one command it shows usage, options and examples that this program would take', async () => {
    for (const { name, options, examples } of COMMANDS) {
      const { code, stdout } = await cli.run([...name.split(' '), '--help']);
      expect(code).toBe(0);
      expect((await cli.run(['help', ...name.split(' ')])).stdout).toBe(stdout);
      for (const option of options) expect(stdout).toContain(`--${option}`);
      expect(examples.length).toBeGreaterThan(0);
      for (const example of examples) {
        expect(stdout).toContain(`  ${example}`);
        expect(example).toContain(`openaisle ${name}`);
      }
    }
  });

  test('the texts stand as they were agreed', async () => {
    expect((await cli.run(['pair', '--help'])).stdout).toMatchInlineSnapshot(`
      "openaisle pair: makes a one-time code for the hosted connector’s page, valid for ten minutes.

      Usage
        openaisle pair [options]

      Options
        --handle NAME  the merchant; its file is ~/.config/openaisle/<market host>/<handle>.json
        --file FILE    the merchant’s file, if it is elsewhere
        --key-stdin    read the key from the first line of standard input
        --out FILE     the file to write
        --reveal       also print the secrets; on a terminal only

      Global options
        --market URL  the market’s address (or OPENAISLE_MARKET; a merchant’s file has its own)
        --allow-http  allow connections without TLS to other machines
        --json        print one JSON object, without secrets
        --help        show this help
        --version     show the version

      Examples
        openaisle pair
        openaisle pair --out code.json
      "
    `);
  });

  test('docs/cli.md has the table of commands as it is; otherwise: npm run docs', async () => {
    const text = await readFile(new URL('../../docs/cli.md', import.meta.url), 'utf8');
    expect(withCommandTable(text)).toBe(text);
  });

  test('docs/cli.md has each exit code that there is, and so has help', async () => {
    const text = await readFile(new URL('../../docs/cli.md', import.meta.url), 'utf8');
    const [, section = ''] = /\n## Exit codes\n([\s\S]*?)\n## /.exec(text) ?? [];
    const told = [...section.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
    const terminal = await readFile(new URL('terminal.ts', import.meta.url), 'utf8');
    const atOnce = new Set([...terminal.matchAll(/process\.exit\((\d+)\)/g)].map(([, code]) => Number(code)));
    expect(told).toEqual([0, ...Object.values(EXITS), ...atOnce]);
    const { stdout } = await cli.run(['help']);
    const [codes = ''] = /Exit codes:[\s\S]*/.exec(stdout) ?? [];
    for (const code of told) expect(codes).toMatch(new RegExp(`[:;] ${code} |\\n${code} `));
  });

  test('docs/cli.md says what --json gives of each command, and of help and version', async () => {
    const text = await readFile(new URL('../../docs/cli.md', import.meta.url), 'utf8');
    const [, section = ''] = /\n## JSON\n([\s\S]*)/.exec(text) ?? [];
    const told = [...section.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
    );
    const names = COMMANDS.map(({ name }) => name).filter((name) => name !== 'mcp');
    expect(told.toSorted()).toEqual([...names, '--help', '--version', 'help'].toSorted());
    expect((await cli.run(['mcp', '--json'])).json()).toMatchObject({ status: 'wrong_use' });
    expect(Object.keys((await cli.run(['--version', '--json'])).json())).toEqual(['status', 'version']);
  });

  test('a count is told for what it counts', async () => {
    const limits = `1 to ${PAGE_SIZES.shelves}; of show: comments, 1 to ${PAGE_SIZES.comments}`;
    for (const name of ['search', 'show', 'listings'])
      expect((await cli.run([name, '--help'])).stdout).toContain(limits);
    expect([PAGE_SIZES.shelves, PAGE_SIZES.me_listings]).toEqual([50, 50]);
  });

  test('who leaves out what join needs is told where it is explained', async () => {
    const { stderr } = await cli.run(['join', '--market', 'https://market.example']);
    expect(stderr).toContain('next: Run openaisle join --help to see what each one means.');
  });

  test('colours a line by its first word', () => {
    expect(colourLine('a refused: thing')).toBe('a refused: thing');
    expect(colourLine('refused: no')).toContain(`${String.fromCodePoint(27)}[31mrefused:`);
  });
});

describe('completion', () => {
  const cli = cliRuns();

  /** Splits a line as bash does, with `:` and `=` as separate words. */
  const cut = (line: string): string[] =>
    line.split(' ').flatMap((word) => (word === '' ? [''] : word.split(/([:=])/).filter((part) => part !== '')));
  const quoted = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(' ');

  const completed = async (line: string): Promise<string[]> => {
    const { stdout: script } = await cli.run(['completion', 'bash']);
    const words = cut(line);
    const ask = `COMP_WORDS=(${quoted(words)}); COMP_CWORD=${words.length - 1}
_openaisle openaisle '${words.at(-1)}' '${words.at(-2)}'; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = await exec('bash', ['--norc', '-c', `${script}\n${ask}`], { cwd: cli.folder() });
    return stdout.split('\n').filter((word) => word !== '');
  };

  /** Returns the completions that zsh offers first, with the script autoloaded from fpath. Null if zsh is missing. */
  const completedByZsh = async (line: string): Promise<string[] | null> => {
    const { stdout: script } = await cli.run(['completion', 'zsh']);
    await mkdir(`${cli.folder()}/completions`, { recursive: true });
    await writeFile(`${cli.folder()}/completions/_openaisle`, script);
    const words = line.split(' ');
    const ask = `fpath=('${cli.folder()}/completions'); autoload -U _openaisle; compadd() { shift; print -l -- "$@"; }; _files() { : }
words=(${quoted(words)}); CURRENT=${words.length}; _openaisle`;
    const { stdout } = await exec('zsh', ['-f', '-c', ask]).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return { stdout: null };
      throw error;
    });
    const offered = stdout?.split('\n').filter((word) => word !== '' && word.startsWith(words.at(-1) ?? ''));
    return offered ?? null;
  };

  test('bash is offered the commands, the options of the one that stands there, and the values of an option', async () => {
    const first = new Set(COMMANDS.map(({ name }) => name.split(' ')[0] ?? ''));
    expect(await completed('openaisle ')).toEqual([...first, 'help']);
    expect(await completed('openaisle wh')).toEqual(['whoami']);
    for (const { name, options } of COMMANDS)
      expect(await completed(`openaisle ${name} --`)).toEqual(expect.arrayContaining(options.map((one) => `--${one}`)));
    expect(await completed('openaisle join --class ')).toEqual(specOf('class').choices);
    expect(await completed('openaisle join --class=coding_p')).toEqual(['coding_persistent']);
    expect(await completed('openaisle join --model ')).toEqual([]);
  });

  test('a file is offered where one may stand, whole, and nowhere else', async () => {
    await writeFile(`${cli.folder()}/two words.md`, '');
    for (const before of ['sell', 'verify', 'export', 'import', 'edit 7 --goods', 'sell --preview'])
      expect(await completed(`openaisle ${before} two`)).toEqual(['two words.md']);
    for (const before of ['show', 'comment 7', 'search', 'sell --title', 'sell notes.md', 'help sell'])
      expect(await completed(`openaisle ${before} two`)).toEqual([]);
  });

  test.each([
    ['help wh', ['whoami']],
    ['help mod ', ['remove', 'pin', 'decide', 'reviews']],
    ['help show ', []],
    ['help completion ', []],
    ['completion ', ['bash', 'zsh']],
    ['completion bash ', []],
    ['flag ', FLAG_TARGETS],
    ['flag listing ', []],
    ['mod decide ', []],
    ['mod decide 3 ', APPEAL_OUTCOMES],
    ['mod reviews 3 ', REVIEW_DECISIONS],
    ['--json mod --market https://market.example:8080/at --reason spam reviews 3 de', ['deliver', 'declined']],
    ['--market https://market', []],
    ['--j', ['--json']],
  ])('both shells offer the same after: openaisle %s', async (line, offered) => {
    const shells = [await completed(`openaisle ${line}`), await completedByZsh(`openaisle ${line}`)];
    expect(shells.filter((words) => words !== null)).toEqual(shells.flatMap((words) => (words ? [offered] : [])));
  });

  test('zsh takes the script as a file of fpath and as a source; another shell is refused', async () => {
    const { stdout } = await cli.run(['completion', 'zsh']);
    expect(stdout).toMatch(/^#compdef openaisle\n/);
    expect(stdout).toMatch(
      /\nif \[ "\$funcstack\[1\]" = _openaisle \]; then _openaisle "\$@"; else compdef _openaisle openaisle; fi\n$/,
    );
    for (const { name, options } of COMMANDS) {
      expect(stdout).toContain(name.split(' ').at(-1));
      for (const option of options) expect(stdout).toContain(`--${option}`);
    }
    expect([(await cli.run(['completion', 'fish'])).code, (await cli.run(['completion'])).code]).toEqual([2, 2]);
  });
});
