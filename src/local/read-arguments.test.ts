import { describe, expect, it } from 'vitest';
import { readArguments, WrongArguments } from './read-arguments.ts';

describe('the arguments of the demo', () => {
  it('have defaults', () => {
    expect(readArguments([])).toEqual({
      exit: false,
      mcp: false,
      json: false,
      help: false,
      firstPort: 4020,
      finalityBlocks: 4,
      dataDir: './data/local',
    });
  });

  it('are read', () => {
    const given = ['--exit', '--mcp', '--json', '--ports', '5000', '--finality=8', '--data', '/tmp/x'];
    expect(readArguments(given)).toMatchObject({
      exit: true,
      mcp: true,
      json: true,
      firstPort: 5000,
      finalityBlocks: 8,
      dataDir: '/tmp/x',
    });
  });

  it.each([
    ['--ports', '0'],
    ['--ports', '65533'],
    ['--ports', '04020'],
    ['--ports', '4020.5'],
    ['--finality', '0'],
    ['--finality', '3'],
    ['--finality', '-2'],
    ['--finality', 'soon'],
    ['--data', ''],
    ['--quick', ''],
    ['extra', ''],
  ])('%s %s is refused', (name, value) => {
    expect(() => readArguments(name.startsWith('--') ? [`${name}=${value}`] : [name])).toThrow(WrongArguments);
  });
});
