import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ConfigError, optional, readEnvironment, required } from './config.ts';

const variables = {
  APP_PORT: optional(z.string().regex(/^\d+$/).transform(Number), 'a number', 80),
  APP_NAME: required(z.string().regex(/^[a-z]+$/), 'lower-case letters'),
  APP_LIST: optional(
    z.string().transform((text, context) => {
      if (text.includes(';')) context.addIssue({ code: 'custom', message: 'separate by commas' });
      return text.split(',');
    }),
    'a list',
    () => ['default'],
  ),
};

function faults(env: Record<string, string>, known?: Parameters<typeof readEnvironment>[2]): readonly string[] {
  try {
    readEnvironment(env, variables, known);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}

describe('readEnvironment', () => {
  it('reads what is set and falls back where that is allowed', () => {
    expect(readEnvironment({ APP_NAME: ' shop ', APP_PORT: '8080' }, variables)).toEqual({
      APP_PORT: 8080,
      APP_NAME: 'shop',
      APP_LIST: ['default'],
    });
    expect(readEnvironment({ APP_NAME: 'shop', APP_PORT: '' }, variables).APP_PORT).toBe(80);
  });

  it('names every fault at once, and no value', () => {
    expect(faults({ APP_PORT: 'hunter2', APP_LIST: 'hunter2;x' })).toEqual([
      'APP_PORT must be a number',
      'APP_NAME is required and must be lower-case letters',
      'APP_LIST must be a list: separate by commas',
    ]);
  });

  it('refuses names of its own kind that it does not know', () => {
    const known = { prefix: 'APP_', others: ['APP_SPECIAL'] };
    expect(faults({ APP_NAME: 'shop', APP_PROT: 'hunter2', APP_SPECIAL: 'x', PATH: '/bin' }, known)).toEqual([
      'APP_PROT is not a variable of this program',
    ]);
  });

  it('is an error that an operator can read', () => {
    expect(() => readEnvironment({}, variables)).toThrow(
      'the configuration is not usable:\n  APP_NAME is required and must be lower-case letters',
    );
  });
});
