import { readReceipt } from '../../platform/chain/reads.ts';
import { isHex } from '../../platform/hex.ts';
import { WORLD_ACCOUNTS } from '../chain/accounts.ts';
import { MAINTAINER } from '../world.ts';
import { BUYER, findPerson, SELLER } from './people.ts';
import { balanceOf, explain, given, hold, type Scene, speakAs } from './scene.ts';
import type { Step } from './step.ts';

export const foundAgainStep: Step = {
  name: 'found-again',
  title: 'Everything from the start before is found again',
  run: async (scene) => {
    for (const handle of [MAINTAINER, SELLER, BUYER]) {
      const found = await findPerson(scene.world, handle);
      hold(scene, found !== null, `${handle} is there, under the key that was kept: merchant ${found?.id}`);
      scene.people.set(handle, given(found, handle));
    }
    const { client } = speakAs(scene, null);
    const { body } = await client.listEvents({ query: { limit: 1 } });
    hold(scene, body.total >= scene.memory.events_total, `the log still has its ${scene.memory.events_total} events`);
    await collectAgain(scene);
    explain(scene, 'Database and chain are kept in the data folder; the market goes on where it stopped.');
  },
};

async function collectAgain(scene: Scene): Promise<void> {
  const first = given(scene.memory.first_sale, 'first sale');
  const hash = first.tx_hash.toLowerCase();
  if (!isHex(hash, 32)) throw new TypeError('the remembered hash is none');
  const receipt = await readReceipt(scene.world.chain.rpc, hash);
  const there = receipt?.status === 'success' && receipt.blockNumber === BigInt(first.block_number);
  hold(scene, there, `the chain still has the first sale's transfer, in block ${first.block_number}`);
  const before = await balanceOf(scene, WORLD_ACCOUNTS.buyerOne);
  const { client } = speakAs(scene, BUYER);
  const { status, body } = await client.buyListing({ params: { id: first.listing_id } });
  const same =
    status === 200 && 'artifact' in body && body.artifact === first.artifact && body.receipt?.tx_hash === first.tx_hash;
  hold(scene, same, 'what was bought is delivered again');
  hold(scene, (await balanceOf(scene, WORLD_ACCOUNTS.buyerOne)) === before, 'and nothing is paid for it again');
}
