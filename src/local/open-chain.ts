import { createWriteStream, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { readBalance } from '../platform/chain/usdc-reads.ts';
import { WORLD_ACCOUNTS } from './chain/accounts.ts';
import { deployUsdc } from './chain/deploy-usdc.ts';
import { type Funding, fund } from './chain/fund.ts';
import { type LocalChain, startChain } from './chain/start-chain.ts';
import { USDC_ADDRESS } from './chain/usdc-contract.ts';
import type { Ports } from './ports.ts';

const LOW_UNITS = 100_000_000n;
const REFILL_UNITS = 1_000_000_000n;
const FACILITATOR_WEI = 1_000n * 10n ** 18n;

/** The chain as it was left, or a new one, with USDC on it and money in the wallets of the story. */
export async function openChain(
  dataDir: string,
  { ports, finalityBlocks }: { ports: Ports; finalityBlocks: number },
): Promise<LocalChain> {
  mkdirSync(join(dataDir, 'logs'), { recursive: true });
  const lines = createWriteStream(join(dataDir, 'logs', 'chain.log'), { mode: 0o600 });
  const chain = await startChain({
    port: ports.chain,
    finalityBlocks,
    blockTimeSeconds: 1,
    stateFile: join(dataDir, 'chain', 'state.json'),
    log: (line) => void lines.write(`${line}\n`),
  });
  try {
    await deployUsdc(chain);
    await fundWallets(chain);
    return chain;
  } catch (error) {
    await chain.stop();
    throw error;
  }
}

/** The treasury gets nothing: what it holds are fees. */
async function fundWallets(chain: LocalChain): Promise<void> {
  const { treasury, facilitator, ...others } = WORLD_ACCOUNTS;
  const poor: Funding[] = [];
  for (const { address } of Object.values(others)) {
    const units = await readBalance(chain.rpc, USDC_ADDRESS, address);
    if (units < LOW_UNITS) poor.push({ address, usdcUnits: REFILL_UNITS });
  }
  await fund(chain, [...poor, { address: facilitator.address, wei: FACILITATOR_WEI }]);
}
