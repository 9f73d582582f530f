import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Too high for a load from one address to reach. */
const WIDE = 1_000_000_000;

/** Returns settings that lift the limits for a load from one machine, under the names that this checkout uses. */
export async function wideLimits(root: string): Promise<{ market: string; facilitator: string }> {
  const market = await limitNames(join(root, 'src/contract/vocabulary.ts'));
  const facilitator = await limitNames(join(root, 'src/facilitator/budget/gas-budget.ts'));
  return {
    market: widenLimits(market.filter((name) => name.includes('_per_'))),
    facilitator: widenLimits(facilitator.filter((name) => name.startsWith('gas_loss_'))),
  };
}

async function limitNames(file: string): Promise<string[]> {
  const { DEFAULT_LIMITS } = (await import(pathToFileURL(file).href)) as { DEFAULT_LIMITS: object };
  return Object.keys(DEFAULT_LIMITS);
}

function widenLimits(names: readonly string[]): string {
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, WIDE])));
}
