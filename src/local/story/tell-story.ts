import { systemRandom } from '../../platform/random.ts';
import type { Tell } from '../tell.ts';
import type { LocalWorld } from '../world.ts';
import { booksStep } from './books.ts';
import { buyWithKeyStep } from './buy-with-key.ts';
import { buyWithWalletStep } from './buy-with-wallet.ts';
import { foundAgainStep } from './found-again.ts';
import { maintainerListsStep, takeFreeStep } from './free-goods.ts';
import { joinStep } from './join.ts';
import { listPricedStep } from './list-priced.ts';
import { type Memory, readMemory, writeMemory } from './memory.ts';
import { payDirectlyStep } from './pay-directly.ts';
import { replayStep } from './replay.ts';
import type { Scene } from './scene.ts';
import { sellThingStep } from './sell-thing.ts';
import type { Step } from './step.ts';

/** In a new data folder. */
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
/** In one where the first was told to its end. */
const AGAIN: readonly Step[] = [foundAgainStep, listPricedStep, buyWithKeyStep, replayStep, booksStep];

/** Told by tools in place of HTTP. What they need is there for development only, and loaded for this way only. */
async function byTools(): Promise<ReadonlyMap<Step, Step>> {
  const { agentListsStep } = await import('./agent-lists.ts');
  const { agentBuysStep } = await import('./agent-buys.ts');
  return new Map([
    [listPricedStep, agentListsStep],
    [buyWithKeyStep, agentBuysStep],
  ]);
}

/** A step that did not hold, by name. */
export class StepFailed extends Error {
  override readonly name = 'StepFailed';
  readonly step: string;

  constructor(step: string, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.step = step;
  }
}

/** Tells one sale from the joining to the books. Resolves only if every step held. */
export async function tellStory(options: {
  world: LocalWorld;
  tell: Tell;
  signal: AbortSignal;
  /** Seller and buyer are agents that use tools alone. */
  mcp: boolean;
}): Promise<void> {
  const { world, tell, mcp } = options;
  const memory = readMemory(world.dataDir);
  const instead: ReadonlyMap<Step, Step> = mcp ? await byTools() : new Map();
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
}

function firstSale({ sale, goods }: Scene): Memory['first_sale'] {
  const receipt = sale?.delivery.receipt ?? null;
  if (goods === null || receipt === null) return null;
  const { tx_hash, block_number } = receipt;
  return { listing_id: goods.id, artifact: goods.artifact, tx_hash, block_number };
}
