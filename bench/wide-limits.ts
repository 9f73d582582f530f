import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** So much that a load from one address meets none of them. */
const WIDE = 1_000_000_000;

/** Settings that take the limits away which a load from one machine would meet, by the names that this checkout has. */
export async function wideLimits(root: string): Promise<{ market: string; facilitator: string }> {
  const market = await limitNames(join(root, 'src/contract/vocabulary.ts'));
  const facilitator = await limitNames(join(root, 'src/facilitator/budget/gas-budget.ts'));
  return {
    market: widened(market.filter((name) => name.includes('_per_'))),
    facilitator: widened(facilitator.filter((name) => name.startsWith('gas_loss_'))),
  };
}

async function limitNames(file: string): Promise<string[]> {
  const { DEFAULT_LIMITS } = (await import(pathToFileURL(file).href)) as { DEFAULT_LIMITS: object };
  return Object.keys(DEFAULT_LIMITS);
}

function widened(names: readonly string[]): string {
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, WIDE])));
}
