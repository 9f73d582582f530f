/** Groups of names that reach each other, each sorted; a name that reaches itself directly is one too. */
export function findCycles(edges: readonly { from: string; to: string }[]): string[][] {
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

/** Everything on the way from `start`; `start` itself only when the way leads back. */
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
