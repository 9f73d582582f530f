import { readReceipt } from '../../platform/chain/reads.ts';
import { isHex } from '../../platform/hex.ts';
import { systemRandom } from '../../platform/random.ts';
import { MarketError } from '../../sdk/errors.ts';
import { buy } from '../../sdk/payments/buy.ts';
import { WORLD_ACCOUNTS } from '../chain/accounts.ts';
import type { EventPrinter } from '../tell.ts';
import { type LocalWorld, MAINTAINER } from '../world.ts';
import { joinStep, maintainerListsStep, takeFreeStep } from './join-and-take-free.ts';
import { payDirectlyStep } from './pay-directly.ts';
import {
  BUYER,
  balanceOf,
  booksStep,
  check,
  explain,
  findPerson,
  type Goods,
  type Memory,
  need,
  observedClient,
  readBalances,
  readMemory,
  type Scene,
  SELLER,
  type Step,
  unitsOf,
  writeMemory,
} from './scene.ts';
import { buyWithWalletStep, checkPaymentSteps, listPricedStep, proofsIn } from './sell-priced.ts';
import { sellThingStep } from './sell-thing.ts';

const { buyerOne, sellerOne } = WORLD_ACCOUNTS;

const buyWithKeyStep: Step = {
  name: 'buy-with-key',
  title: `${BUYER}, a merchant with a key, buys it by x402 v2`,
  run: async (scene) => {
    const goods = need(scene.goods, 'goods');
    const { client, exchanges } = observedClient(scene, BUYER);
    const before = await readBalances(scene);
    const wallet = buyerOne.signer;
    const { id: listingId, priceUsdc: maxPriceUsdc } = goods;
    const delivery = await buy({ client, wallet, listingId, maxPriceUsdc, x402Version: 2, signal: scene.signal });
    const requests = checkPaymentSteps(scene, exchanges, {
      path: `/api/buy/${listingId}`,
      payee: sellerOne,
      payeeName: `${SELLER}'s wallet`,
      units: unitsOf(goods.priceUsdc),
      last: 200,
    });
    const early = requests.slice(0, -1).map(({ text }) => text);
    check(scene, !early.join().includes(goods.artifact), 'no answer before the last held anything of the goods');
    check(
      scene,
      delivery.artifact === goods.artifact,
      `the goods are byte for byte what ${SELLER} put in, and match the commitment`,
    );
    const after = await readBalances(scene);
    const price = unitsOf(goods.priceUsdc);
    const moved = before.buyer - after.buyer === price && after.seller - before.seller === price;
    check(scene, moved, `${goods.priceUsdc} USDC went from wallet to wallet, once; the market never held them`);
    const { receipt, purchase } = delivery;
    check(scene, purchase?.verified_via === 'x402' && receipt !== null, `purchase ${purchase?.id} is ${BUYER}'s`);
    explain(
      scene,
      'The buyer signed one transfer; a facilitator put it on the chain, and the market found it there before it delivered.',
    );
    const [proof] = proofsIn(requests);
    scene.sale = { delivery, proof: { name: 'PAYMENT-SIGNATURE', value: need(proof, 'proof') } };
  },
};

const foundAgainStep: Step = {
  name: 'found-again',
  title: 'Everything from the start before is found again',
  run: async (scene) => {
    for (const handle of [MAINTAINER, SELLER, BUYER]) {
      const person = await findPerson(scene.world, handle);
      check(scene, person !== null, `${handle} is there, under the key that was kept: merchant ${person?.id}`);
      scene.people.set(handle, need(person, handle));
    }
    const { client } = observedClient(scene, null);
    const { body } = await client.listEvents({ query: { limit: 1 } });
    check(scene, body.total >= scene.memory.events_total, `the log still has its ${scene.memory.events_total} events`);
    await collectAgain(scene);
    explain(scene, 'Database and chain are kept in the data folder; the market goes on where it stopped.');
  },
};

async function collectAgain(scene: Scene): Promise<void> {
  const first = need(scene.memory.first_sale, 'first sale');
  const hash = first.tx_hash.toLowerCase();
  if (!isHex(hash, 32)) throw new TypeError('the saved hash is malformed');
  const receipt = await readReceipt(scene.world.chain.rpc, hash);
  const there = receipt?.status === 'success' && receipt.blockNumber === BigInt(first.block_number);
  check(scene, there, `the chain still has the first sale's transfer, in block ${first.block_number}`);
  const before = await balanceOf(scene, WORLD_ACCOUNTS.buyerOne);
  const { client } = observedClient(scene, BUYER);
  const { status, body } = await client.buyListing({ params: { id: first.listing_id } });
  const same =
    status === 200 && 'artifact' in body && body.artifact === first.artifact && body.receipt?.tx_hash === first.tx_hash;
  check(scene, same, 'what was bought is delivered again');
  check(scene, (await balanceOf(scene, WORLD_ACCOUNTS.buyerOne)) === before, 'and nothing is paid for it again');
}

const replayStep: Step = {
  name: 'replay',
  title: 'A stranger sends a proof that was already used',
  run: async (scene) => {
    const goods = need(scene.goods, 'goods');
    const { proof } = need(scene.sale, 'sale');
    const { client, exchanges } = observedClient(scene, null);
    const answer: unknown = await client
      .buyListing({ params: { id: goods.id }, payment: proof })
      .catch((error: unknown) => error);
    const refused = answer instanceof MarketError && answer.status === 409 && answer.reason === 'sign_to_collect';
    check(scene, refused, 'the proof alone collects nothing: 409, sign to show that the wallet is yours');
    check(scene, !exchanges.some(({ text }) => text.includes(goods.artifact)), 'the answer holds nothing of the goods');
    explain(
      scene,
      'Once it is on the chain everybody can read a proof, so it shows that it was paid, and not who is asking.',
    );
  },
};

/** Steps in a new data folder. */
const FIRST: readonly Step[] = [
  joinStep,
  listPricedStep,
  buyWithKeyStep,
  buyWithWalletStep,
  payDirectlyStep,
  replayStep,
  maintainerListsStep,
  takeFreeStep,
  sellThingStep,
  booksStep,
];
/** Steps in a folder with a completed story. */
const AGAIN: readonly Step[] = [foundAgainStep, listPricedStep, buyWithKeyStep, replayStep, booksStep];

/** Replaces steps by steps that use tools instead of HTTP. Loaded only if needed, because they use development dependencies. */
async function loadToolSteps(): Promise<ReadonlyMap<Step, Step>> {
  const { agentListsStep } = await import('./agent-lists.ts');
  const { agentBuysStep } = await import('./agent-buys.ts');
  return new Map([
    [listPricedStep, agentListsStep],
    [buyWithKeyStep, agentBuysStep],
  ]);
}

export class StepFailed extends Error {
  override readonly name = 'StepFailed';
  readonly step: string;

  constructor(step: string, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.step = step;
  }
}

/** Runs the story, from opening stores to reading the public books. Resolves with the listed goods if every step passed. */
export async function tellStory(options: {
  world: LocalWorld;
  tell: EventPrinter;
  signal: AbortSignal;
  /** True if seller and buyer are agents that use only tools. */
  mcp: boolean;
}): Promise<Goods> {
  const { world, tell, mcp } = options;
  const memory = readMemory(world.dataDir);
  const instead: ReadonlyMap<Step, Step> = mcp ? await loadToolSteps() : new Map();
  const steps = (memory.told === 0 ? FIRST : AGAIN).map((step) => instead.get(step) ?? step);
  const scene: Scene = {
    ...options,
    memory,
    edition: `${memory.told + 1}-${systemRandom.bytes(3).toString('hex')}`,
    people: new Map(),
    goods: null,
    freeGoods: null,
    sale: null,
  };
  for (const [index, step] of steps.entries()) {
    const { name, title } = step;
    tell({ kind: 'step', number: index + 1, of: steps.length, name, title });
    try {
      options.signal.throwIfAborted();
      await step.run(scene);
    } catch (error) {
      throw new StepFailed(name, error);
    }
  }
  writeMemory(world.dataDir, { ...memory, told: memory.told + 1, first_sale: memory.first_sale ?? firstSale(scene) });
  return need(scene.goods, 'goods');
}

function firstSale({ sale, goods }: Scene): Memory['first_sale'] {
  const receipt = sale?.delivery.receipt ?? null;
  if (goods === null || receipt === null) return null;
  const { tx_hash, block_number } = receipt;
  return { listing_id: goods.id, artifact: goods.artifact, tx_hash, block_number };
}
