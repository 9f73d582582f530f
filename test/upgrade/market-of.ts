import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from 'vitest';
import { LISTING_FEE_UNITS } from '../../src/contract/vocabulary.ts';
import { type TestAccount, testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { watchText } from '../support/canary.ts';
import { usdcAdmin } from '../support/chain.ts';
import { compileCache } from '../support/compile-cache.ts';
import { claim, payDirectly } from '../support/direct.ts';
import { freePort } from '../support/free-port.ts';
import { type Answer, type AskOptions, askMarket, BASE_URL, type Member, signProof } from '../support/market-world.ts';
import { newGoods } from '../support/trade.ts';

export interface UpgradedMarket {
  url: string;
  ask(method: string, path: string, asked?: AskOptions): Promise<Answer>;
  lines: readonly string[];
  /** Finishes requests in flight and exits. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

/** Command that starts a market: a program, or `npm start`, which does not forward signals. */
export interface StartCommand {
  command: string;
  args: readonly string[];
  cwd?: string;
}

/** Starts the market of that folder and waits until it listens. */
export const startMarketOf = (tree: string, environment: Record<string, string>): Promise<UpgradedMarket> =>
  startMarketBy({ command: process.execPath, args: [join(tree, 'src/market/main.ts')] }, environment);

export async function startMarketBy(
  { command, args, cwd }: StartCommand,
  environment: Record<string, string>,
): Promise<UpgradedMarket> {
  const port = await freePort();
  const child = spawn(command, args, {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', ...compileCache(), ...environment, OPENAISLE_PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
    // A process group receives the signals, so that both npm and its child get them.
    detached: true,
  });
  const lines: string[] = [];
  const ended = once(child, 'close');
  const signal = async (name: NodeJS.Signals): Promise<void> => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) process.kill(-child.pid, name);
    await ended;
  };
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      watchText('the log of a market', line);
      lines.push(line);
      if (line.includes('"event":"market_listening"')) resolve();
    });
    void ended.then(() => reject(new Error(`the market ended before it listened:\n${lines.join('\n')}`)));
  });
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    lines,
    ask: (method, path, asked) => askMarket(url, method, path, asked),
    stop: () => signal('SIGTERM'),
    kill: () => signal('SIGKILL'),
  };
}

const { sellerOne, treasury } = WORLD_ACCOUNTS;
let wallets = 0;

/** Uses a market of any version through its API alone. */
export function tradeOf(market: UpgradedMarket, chain: LocalChain) {
  const { ask } = market;
  /** Mines more blocks than finality needs, and more than a reorganization could remove. */
  const finalize = (): Promise<void> => chain.mine(6);

  async function wallet(name: string): Promise<TestAccount> {
    wallets += 1;
    const account = testAccount(`upgrade ${name} ${wallets}`);
    await fund(chain, [{ address: account.address, usdcUnits: 100_000_000n, wei: 10n ** 18n }]);
    return account;
  }

  /** Repeats a request until it gets that status. Mines before each repetition, because the market may use a cached finalized block. */
  async function until(status: number, act: () => Promise<Answer>): Promise<Answer> {
    let answer = await act();
    await expect
      .poll(
        async () => {
          if (answer.status !== status) {
            await finalize();
            answer = await act();
          }
          return [answer.status, answer.body['reason'] ?? null];
        },
        { timeout: 30_000 },
      )
      .toEqual([status, null]);
    return answer;
  }

  return {
    ask,
    finalize,
    /** Sends the proof once, without waiting for the outcome. */
    async beginPurchase(buyer: Member, listingId: number, units: bigint): Promise<Answer> {
      const resource = `${BASE_URL}/api/buy/${listingId}`;
      const proof = await signProof(chain, await wallet('buyer'), { payTo: sellerOne.address, units, resource });
      return ask('POST', `/api/buy/${listingId}`, { key: buyer.key, proof: proof.v2 });
    },
    collect: (buyer: Member, listingId: number): Promise<Answer> =>
      until(200, () => ask('POST', `/api/buy/${listingId}`, { key: buyer.key })),
    /** Lists as the first merchant, who pays no fee. */
    listFree: (keeper: Member): Promise<Answer> => ask('POST', '/api/listing', { key: keeper.key, body: goods() }),
    async listPaid(seller: Member): Promise<Answer> {
      const body = goods();
      const terms = { payTo: treasury.address, units: LISTING_FEE_UNITS, resource: `${BASE_URL}/api/listing` };
      const proof = await signProof(chain, await wallet('seller'), terms);
      await ask('POST', '/api/listing', { key: seller.key, body, proof: proof.v2 });
      await finalize();
      return until(200, () => ask('POST', '/api/listing', { key: seller.key, body }));
    },
    async buyDirectly(buyer: Member, listingId: number, units: bigint): Promise<Answer> {
      const payer = await wallet('direct');
      const paid = await payDirectly({ chain, ask }, { buyer, listingId: BigInt(listingId), payer, units });
      await finalize();
      return claim({ chain, ask }, buyer, BigInt(listingId), paid);
    },
    async refund(seller: Member, review: Answer, to: string, units: bigint): Promise<Answer> {
      const back = await usdcAdmin(chain).transfer(sellerOne, to as `0x${string}`, units);
      await finalize();
      const { id } = review.body['payment'] as { id: number };
      const body = { outcome: 'refunded', tx_hash: back.transactionHash };
      return ask('POST', `/api/review/${id}`, { key: seller.key, body });
    },
  };
}

let made = 0;

function goods(): Record<string, unknown> {
  made += 1;
  return newGoods({ artifact: `goods ${made} of an upgrade`, title: `Upgrade goods ${made}` });
}
