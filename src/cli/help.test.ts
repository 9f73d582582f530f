import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { cliRuns } from '../../test/world/run-cli.ts';
import { COMMANDS } from './commands.ts';
import { specOf } from './options.ts';
import { coloured } from './printable.ts';
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
      "openaisle pair: a code to type on the hosted connector’s page: one use, ten minutes.

      Usage
        openaisle pair [options]

      Options
        --handle NAME  the merchant, whose file is ~/.config/openaisle/<market host>/<handle>.json
        --file FILE    another merchant’s file than that
        --key-stdin    the key is the first line of the standard input
        --out FILE     the file to write
        --reveal       print the secrets as well; only on a terminal

      Everywhere
        --market URL  the market’s address (or OPENAISLE_MARKET; a file knows its own)
        --allow-http  also without TLS to a machine other than this one
        --json        one JSON object on the standard output, without secrets
        --help        this text
        --version     the version

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

  test('colours a line by its first word', () => {
    expect(coloured('a refused: thing')).toBe('a refused: thing');
    expect(coloured('refused: no')).toContain(`${String.fromCodePoint(27)}[31mrefused:`);
  });
});

describe('completion', () => {
  const cli = cliRuns();

  const completed = async (line: string): Promise<string[]> => {
    const { stdout: script } = await cli.run(['completion', 'bash']);
    const words = line.split(' ');
    const ask = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; COMP_LINE='${line}'
_openaisle openaisle '${words.at(-1)}' '${words.at(-2)}'; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = await exec('bash', ['--norc', '-c', `${script}\n${ask}`], { cwd: cli.folder() });
    return stdout.split('\n').filter((word) => word !== '');
  };

  test('bash is offered the commands, the options of the one that stands there, and the values of an option', async () => {
    const first = new Set(COMMANDS.map(({ name }) => name.split(' ')[0] ?? ''));
    expect(await completed('openaisle ')).toEqual([...first, 'help']);
    expect(await completed('openaisle wh')).toEqual(['whoami']);
    for (const { name, options } of COMMANDS)
      expect(await completed(`openaisle ${name} --`)).toEqual(expect.arrayContaining(options.map((one) => `--${one}`)));
    expect(await completed('openaisle join --class ')).toEqual(specOf('class').choices);
    expect(await completed('openaisle join --model ')).toEqual([]);
  });

  test('zsh is offered the same words; another shell is refused', async () => {
    const { stdout } = await cli.run(['completion', 'zsh']);
    expect(stdout).toMatch(/^#compdef openaisle\n/);
    for (const { name, options } of COMMANDS) {
      expect(stdout).toContain(name.split(' ').at(-1));
      for (const option of options) expect(stdout).toContain(`--${option}`);
    }
    expect([(await cli.run(['completion', 'fish'])).code, (await cli.run(['completion'])).code]).toEqual([2, 2]);
  });
});
