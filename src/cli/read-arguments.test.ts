import { describe, expect, test } from 'vitest';
import { systemRandom } from '../platform/random.ts';
import { makeMerchantKey, makePairingCode, makeRecoveryCode } from '../platform/secrets.ts';
import { CliError } from './cli-error.ts';
import { COMMANDS } from './commands.ts';
import { hideSecrets } from './printable.ts';
import { readArguments } from './read-arguments.ts';

const SECRETS = ['aisle', 'city', 'x1'].flatMap((prefix) => [
  makeMerchantKey(systemRandom, prefix),
  makeRecoveryCode(systemRandom, prefix),
  makePairingCode(systemRandom, prefix).toLowerCase(),
]);

function refusalOf(given: readonly string[]): CliError {
  try {
    readArguments(given, COMMANDS);
  } catch (error) {
    if (error instanceof CliError) return error;
    throw error;
  }
  throw new Error(`not refused: ${given[0]}`);
}

describe('the command line', () => {
  test('so is the private key of a wallet in the place of a file; a hash of a transaction is none', () => {
    const key = 'ab'.repeat(32);
    for (const given of [
      ['buy', '7', '--max', '1', '--wallet', key],
      ['mcp', '--policy', `0x${key.toUpperCase()}`],
      ['sell', key, '--title', 't'],
      ['verify', `0x${key}`],
      ['export', key],
    ]) {
      const { parts } = refusalOf(given);
      expect([given[0], parts.reason]).toEqual([given[0], 'secret_on_command_line']);
      expect(JSON.stringify(parts)).not.toMatch(/abab/i);
    }
    const { options } = readArguments(['mod', 'reviews', '3', 'refunded', '--refund-tx', `0x${key}`], COMMANDS);
    expect(options['refund-tx']).toBe(`0x${key}`);
  });

  test('a secret on it is refused as leaked, whatever stands around it, and is not said again', () => {
    for (const secret of SECRETS) {
      for (const given of [
        ['whoami', secret],
        ['whoami', '--file', secret],
        ['recover', `--code=${secret}`],
        [`--help=${secret.slice(0, -3)}`],
      ]) {
        const { parts, trouble } = refusalOf(given);
        expect([trouble, parts.reason]).toEqual(['wrong_use', 'secret_on_command_line']);
        expect(JSON.stringify(parts)).not.toContain(secret.slice(-8));
        expect(parts.title).toContain('treat it as leaked');
      }
    }
  });

  test('names of files and merchants are no secrets', () => {
    for (const file of ['aisle_sk_old.json', 'aisle_rc_backup-2026-11.json', 'my_rc_file', 'a_pc_1'])
      expect(readArguments(['whoami', '--file', file], COMMANDS).options.file).toBe(file);
  });

  test('each command takes its own options and no other', () => {
    for (const command of COMMANDS) {
      const needed = command.positionals.filter(({ required }) => required).map(({ name }) => name);
      const given = [...command.name.split(' '), ...needed];
      expect(readArguments(given, COMMANDS)).toMatchObject({ command, positionals: needed, mode: 'run' });
    }
    expect(refusalOf(['whoami', '--resume']).parts.title).toBe('whoami doesn’t take --resume');
    expect(refusalOf(['join', '--code-stdin']).trouble).toBe('wrong_use');
    expect(refusalOf(['join', 'rotate']).parts.title).toBe('join doesn’t take rotate');
    expect(refusalOf(['completion']).parts.title).toBe('SHELL is missing');
    expect(refusalOf(['jion']).parts.title).toMatch(/^There is no command jion\. Commands: .*join, rotate/);
    expect(refusalOf(['join', '--nonsense']).trouble).toBe('wrong_use');
  });

  test('options that contradict each other are refused', () => {
    expect(refusalOf(['whoami', '--json', '--reveal']).parts.title).toContain('can’t be combined');
    expect(refusalOf(['join', '--new-handle', 'ink']).parts.title).toContain('--resume');
    expect(refusalOf(['whoami', '--market', '']).parts.title).toBe('--market is empty');
    expect(refusalOf(['join', '--class', 'cat']).parts.title).toBe(
      '--class must be coding_persistent or coding_ephemeral',
    );
  });
});

describe('what is printed', () => {
  test('holds no secret and nothing that moves the cursor', () => {
    for (const secret of SECRETS) expect(hideSecrets(`so "${secret}" it is`)).toBe('so "[secret]" it is');
    const colour = `${String.fromCodePoint(27)}[31mred${String.fromCodePoint(0x202e)}`;
    expect(hideSecrets(`${colour}\nnext`)).toBe('\\u{1b}[31mred\\u{202e}\nnext');
  });
});
