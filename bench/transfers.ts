import { USDC_ADDRESS } from '../src/local/chain/accounts.ts';
import type { LocalChain } from '../src/local/chain/start-chain.ts';
import { readReceipt } from '../src/platform/chain/reads.ts';
import { systemClock } from '../src/platform/clock.ts';
import { type Hex, isHex } from '../src/platform/hex.ts';
import { settleData, signAuthorization } from '../test/support/chain.ts';
import { payerAccount, senderAccount } from './chain.ts';
import { makeAuthorization } from './proof.ts';
import type { Goods } from './seed.ts';
import { openWire, requestBytes } from './wire.ts';

const GAS = 200_000n;
const FEE_LIMIT = 100_000_000_000n;
const TIP = 1_000_000_000n;
const POLL_MS = 5;
const MINED_WITHIN_MS = 60_000;
/** Too little to be the price of any listing. */
const UNITS = 1n;

/** Transactions signed in advance: one list per sender, to be submitted in order. */
export type Lanes = Hex[][];

export interface TransferSigner {
  sign(given: { count: number; senders: number }): Promise<Lanes>;
  signed(): number;
}

export function createTransferSigner(chain: LocalChain, goods: readonly Goods[]): TransferSigner {
  const nonces = new Map<number, number>();
  let signed = 0;
  const one = async (sender: number): Promise<Hex> => {
    const payer = payerAccount(signed);
    const payee = goods[signed % goods.length]?.payee;
    if (payee === undefined) throw new Error('no listing to pay for');
    const authorization = makeAuthorization(payer, payee, UNITS);
    const signature = await signAuthorization(chain, payer, authorization);
    const nonce = nonces.get(sender) ?? 0;
    nonces.set(sender, nonce + 1);
    signed += 1;
    return senderAccount(sender).signer.signTransaction({
      type: 'eip1559',
      chainId: chain.chainId,
      nonce,
      gas: GAS,
      maxFeePerGas: FEE_LIMIT,
      maxPriorityFeePerGas: TIP,
      to: USDC_ADDRESS,
      data: settleData(authorization, signature),
    });
  };
  return {
    signed: () => signed,
    sign: async ({ count, senders }) => {
      const lanes: Lanes = Array.from({ length: senders }, () => []);
      for (let n = 0; n < count; n += 1) lanes[n % senders]?.push(await one(n % senders));
      return lanes;
    },
  };
}

/** Returns transfers per second, from the first submission to the block of the last. Each sender has one open request at a time. */
export async function measureTransfers(chain: LocalChain, lanes: Lanes): Promise<number> {
  const wires = await Promise.all(lanes.map(() => openWire(chain.url, { keepBody: true })));
  const requests = lanes.map((lane) => lane.map((raw) => sendRequest(chain.url, raw)));
  const begin = performance.now();
  try {
    const hashes = await Promise.all(
      wires.map(async (wire, index) => {
        let last: Hex | null = null;
        for (const request of requests[index] ?? []) last = hashIn((await wire.ask(request)).body);
        return last;
      }),
    );
    for (const hash of hashes) if (hash !== null) await waitUntilMined(chain, hash);
  } finally {
    for (const wire of wires) wire.close();
  }
  return lanes.flat().length / ((performance.now() - begin) / 1_000);
}

function sendRequest(url: string, raw: Hex): Buffer {
  const body = { jsonrpc: '2.0', id: 1, method: 'eth_sendRawTransaction', params: [raw] };
  return requestBytes(url, { method: 'POST', path: '/', body });
}

function hashIn(body: Buffer): Hex {
  const { result } = JSON.parse(body.toString()) as { result?: unknown };
  if (!isHex(result, 32)) throw new Error(`the chain refused a transfer: ${body.toString().slice(0, 300)}`);
  return result;
}

async function waitUntilMined(chain: LocalChain, hash: Hex): Promise<void> {
  for (let waited = 0; waited < MINED_WITHIN_MS; waited += POLL_MS) {
    if ((await readReceipt(chain.rpc, hash)) !== null) return;
    await systemClock.sleep(POLL_MS);
  }
  throw new Error(`transfer ${hash} is in no block`);
}
