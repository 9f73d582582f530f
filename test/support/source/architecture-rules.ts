import type { Import } from './imports-of.ts';

/** Returns groups of names that reach each other, each sorted. A name that reaches itself directly counts as a group. */
function findCycles(edges: readonly { from: string; to: string }[]): string[][] {
  const next = Map.groupBy(edges, ({ from }) => from);
  const targets = (name: string): string[] => (next.get(name) ?? []).map(({ to }) => to);
  const reached = new Map([...next.keys()].map((name) => [name, reach(name, targets)]));
  const seen = new Set<string>();
  const cycles: string[][] = [];
  for (const [name, from] of reached) {
    if (seen.has(name) || !from.has(name)) continue;
    const cycle = [...from].filter((other) => reached.get(other)?.has(name)).sort();
    for (const member of cycle) seen.add(member);
    cycles.push(cycle);
  }
  return cycles;
}

/** Returns all names reachable from `start`; includes `start` only if a cycle leads back. */
function reach(start: string, targets: (name: string) => string[]): Set<string> {
  const found = new Set<string>();
  const open = targets(start);
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    open.push(...targets(name));
  }
  return found;
}

export type Part =
  | 'contract'
  | 'locks'
  | 'platform'
  | 'market'
  | 'facilitator'
  | 'city'
  | 'sdk'
  | 'agent'
  | 'mcp-server'
  | 'cli'
  | 'local'
  | 'test';

const EVERYTHING: readonly Part[] = [
  'contract',
  'locks',
  'platform',
  'market',
  'facilitator',
  'city',
  'sdk',
  'agent',
  'mcp-server',
  'cli',
  'local',
  'test',
];

/** Allowed imports of each part, besides itself. The three servers communicate only over HTTP. */
const MAY_IMPORT: Readonly<Record<Part, readonly Part[]>> = {
  contract: [],
  locks: [],
  platform: ['contract', 'locks'],
  market: ['contract', 'platform'],
  facilitator: ['contract', 'platform'],
  city: ['contract', 'platform'],
  sdk: ['contract'],
  agent: ['contract', 'locks', 'sdk'],
  'mcp-server': ['contract', 'sdk', 'agent'],
  cli: ['contract', 'sdk', 'agent', 'mcp-server'],
  local: EVERYTHING.filter((part) => part !== 'test'),
  test: EVERYTHING,
};

/** Base features, with the features that each may use. */
const FOUNDATIONS: Readonly<Record<string, readonly string[]>> = {
  events: [],
  catalog: [],
  limits: [],
  goods: ['limits'],
  payments: ['events'],
};

/** Folders of the market that expose the same operations in different forms. */
const DOORS: readonly string[] = ['pages', 'http', 'mcp'];

/** Returns the part that a file belongs to. Null for a file outside all parts. */
export function partOf(path: string): Part | null {
  if (path.endsWith('.test.ts') || /^(?:test|bench|packages)\//.test(path) || path === 'vitest.config.ts')
    return 'test';
  const name = /^src\/([^/]+)\//.exec(path)?.[1];
  return EVERYTHING.find((part) => part === name) ?? null;
}

export function directionFaults(imports: readonly Import[]): string[] {
  return imports.flatMap((one) => {
    if (!one.inside) return [];
    const [from, to] = [partOf(one.from), partOf(one.to)];
    if (from !== null && to !== null && (from === to || MAY_IMPORT[from].includes(to))) return [];
    return [
      `${placeOf(one)} imports ${one.to}: ${from ?? 'no part'} may not import ${to ?? 'what belongs to no part'}`,
    ];
  });
}

/** Returns the market's folder that a file is in, or the file itself if it is at the top level. Null outside the market. */
function featureOf(path: string): string | null {
  const [, folder] = /^src\/market\/([^/]+)\/.+$/.exec(path) ?? [];
  return folder ?? (path.startsWith('src/market/') ? path : null);
}

const isTop = (feature: string): boolean => feature.startsWith('src/');
const isDoor = (feature: string): boolean => DOORS.includes(feature);

/** Checks that the market's layers import only downward: endpoints, operations, features, base features. Ignores tests. */
export function marketFaults(imports: readonly Import[]): string[] {
  const edges = imports.flatMap((one) => {
    const [from, to] = [featureOf(one.from), featureOf(one.to)];
    if (from === null || to === null || from === to || partOf(one.from) === 'test') return [];
    return [{ one, from, to }];
  });
  const faults: string[] = [];
  for (const { one, from, to } of edges) {
    const fault = (why: string): void => void faults.push(`${placeOf(one)} imports ${one.to}: ${why}`);
    if (!isTop(from) && !isDoor(from) && isDoor(to)) fault('a feature knows no door');
    if (from.endsWith('/operations.ts') && isDoor(to)) fault('operations know no door');
    const allowed = FOUNDATIONS[from];
    if (allowed !== undefined && !isTop(to) && !allowed.includes(to)) fault(`${from} is a foundation`);
    // Files that features share at the market's top level may not depend on a feature.
    if (!isTop(from) && isTop(to)) {
      const above = featuresBelow(to, edges);
      if (above.length > 0) fault(`${to} rests on ${above.join(', ')}`);
    }
  }
  const folders = edges.filter(({ from, to }) => !isTop(from) && !isTop(to));
  return [...faults, ...findCycles(folders).map((cycle) => `features in a circle: ${cycle.join(', ')}`)];
}

/** Returns the features that a top-level file depends on, directly or through other top-level files. */
function featuresBelow(top: string, edges: readonly { from: string; to: string }[]): string[] {
  const found = new Set<string>();
  const open = [top];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    for (const { from, to } of edges) {
      if (from !== name || found.has(to)) continue;
      found.add(to);
      if (isTop(to)) open.push(to);
    }
  }
  return [...found].filter((name) => !isTop(name)).sort();
}

export function cycleFaults(imports: readonly Import[]): string[] {
  return findCycles(imports.filter(({ inside }) => inside)).map((cycle) => cycle.join(' <-> '));
}

function placeOf({ from, line }: Import): string {
  return `${from}:${line}`;
}
