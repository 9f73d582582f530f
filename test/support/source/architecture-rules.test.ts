import { describe, expect, test } from 'vitest';
import { cycleFaults, directionFaults, marketFaults } from './architecture-rules.ts';
import type { Import } from './imports-of.ts';

function importOf(from: string, to: string): Import {
  return { from: `src/${from}`, to: `src/${to}`, line: 1, inside: true };
}

describe('directions', () => {
  test.each([
    ['contract/a.ts', 'platform/b.ts'],
    ['platform/a.ts', 'market/b.ts'],
    ['market/a.ts', 'facilitator/b.ts'],
    ['facilitator/a.ts', 'market/b.ts'],
    ['market/a.ts', 'city/b.ts'],
    ['city/a.ts', 'market/b.ts'],
    ['sdk/a.ts', 'platform/b.ts'],
    ['contract/a.ts', 'sdk/b.ts'],
    ['sdk/a.ts', 'cli/b.ts'],
    ['platform/a.ts', 'local/b.ts'],
    ['market/a.ts', 'market/b.test.ts'],
    ['market/a.ts', '../test/support/b.ts'],
    ['market/a.ts', 'elsewhere/b.ts'],
  ])('%s may not import %s', (from, to) => {
    expect(directionFaults([importOf(from, to)])).toHaveLength(1);
  });

  test.each([
    ['platform/a.ts', 'contract/b.ts'],
    ['market/a.ts', 'platform/b.ts'],
    ['facilitator/a.ts', 'contract/b.ts'],
    ['cli/a.ts', 'sdk/b.ts'],
    ['local/a.ts', 'market/b.ts'],
    ['contract/a.test.ts', 'market/b.ts'],
    ['market/a/b.ts', 'market/c/d.ts'],
  ])('%s may import %s', (from, to) => {
    expect(directionFaults([importOf(from, to)])).toEqual([]);
  });
});

describe('inside the market', () => {
  test.each([
    ['a feature a door', 'listings/a.ts', 'pages/b.ts'],
    ['operations a door', 'operations.ts', 'pages/b.ts'],
    ['the money core a feature', 'payments/x402/a.ts', 'purchases/b.ts'],
    ['the log a feature', 'events/a.ts', 'payments/b.ts'],
    ['the catalog a feature', 'catalog/a.ts', 'listings/b.ts'],
  ])('%s is not let in', (_, from, to) => {
    expect(marketFaults([importOf(`market/${from}`, `market/${to}`)])).toHaveLength(1);
  });

  test('a feature may not use a file at the top that rests on a feature, however far away', () => {
    const direct = [
      importOf('market/fees/a.ts', 'market/context.ts'),
      importOf('market/context.ts', 'market/events/b.ts'),
    ];
    expect(marketFaults(direct)).toHaveLength(1);
    const far = [
      importOf('market/fees/a.ts', 'market/context.ts'),
      importOf('market/context.ts', 'market/config.ts'),
      importOf('market/config.ts', 'market/identity/b.ts'),
    ];
    expect(marketFaults(far)).toHaveLength(1);
  });

  test('two features that import each other are a circle, even where no two files do', () => {
    const faults = marketFaults([
      importOf('market/a/one.ts', 'market/b/two.ts'),
      importOf('market/b/three.ts', 'market/a/four.ts'),
    ]);
    expect(faults).toEqual(['features in a circle: a, b']);
  });

  test('features rest on foundations, doors on anything, tests on anything', () => {
    const faults = marketFaults([
      importOf('market/purchases/a.ts', 'market/payments/b.ts'),
      importOf('market/payments/a.ts', 'market/events/b.ts'),
      importOf('market/pages/a.ts', 'market/catalog/b.ts'),
      importOf('market/create-market.ts', 'market/pages/b.ts'),
      importOf('market/payments/a.test.ts', 'market/purchases/b.ts'),
    ]);
    expect(faults).toEqual([]);
  });
});

test('a circle of files is named with all of its members and nothing else', () => {
  const edges = [
    importOf('a.ts', 'b.ts'),
    importOf('b.ts', 'c.ts'),
    importOf('c.ts', 'a.ts'),
    importOf('d.ts', 'a.ts'),
    importOf('c.ts', 'e.ts'),
  ];
  expect(cycleFaults(edges)).toEqual(['src/a.ts <-> src/b.ts <-> src/c.ts']);
  expect(cycleFaults(edges.slice(1))).toEqual([]);
});
