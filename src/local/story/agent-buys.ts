import { readBlock } from '../../platform/chain/reads.ts';
import { WORLD_ACCOUNTS } from '../chain/accounts.ts';
import { buyByTools } from '../trade-by-tools.ts';
import { BUYER, check, explain, need, readBalances, SELLER, type Step, unitsOf } from './scene.ts';
import { checkPaidByTool, proofsSent, useTools } from './use-tools.ts';

const { buyerOne, sellerOne } = WORLD_ACCOUNTS;

export const agentBuysStep: Step = {
  name: 'agent-buys',
  title: `${BUYER}'s agent finds it, pays and collects, by MCP tools alone`,
  run: async (scene) => {
    const goods = need(scene.goods, 'goods');
    const price = unitsOf(goods.priceUsdc);
    await using agent = await useTools(scene, BUYER, '2026-07-28');
    const before = await readBalances(scene);
    const order = { words: `reading finality ${scene.edition}`, maxPriceUsdc: goods.priceUsdc, signal: scene.signal };
    const { tools, client } = agent;
    const delivery = await buyByTools({ tools, client, wallet: buyerOne.signer, ...order });
    check(
      scene,
      delivery.listing_id === goods.id,
      `in the other revision of the protocol it found listing ${goods.id}`,
    );
    const requests = checkPaidByTool(scene, agent, {
      ...{ tool: 'buy', payee: sellerOne.address, payeeName: `${SELLER}'s wallet, which the listing shows` },
      ...{ units: price, priceUsdc: goods.priceUsdc },
    });
    const early = agent.exchanges.filter(({ answer }) => answer !== requests.at(-1)?.answer);
    check(
      scene,
      !JSON.stringify(early).includes(goods.artifact),
      'no answer before the last held anything of the goods',
    );
    check(
      scene,
      delivery.artifact === goods.artifact,
      'the goods are byte for byte the same, and match the commitment',
    );
    const block = need(delivery.receipt, 'receipt').block_number;
    const final = (await readBlock(scene.world.chain.rpc, 'finalized'))?.number ?? 0n;
    check(scene, BigInt(block) <= final, `the transfer is in block ${block}, and the chain is final up to ${final}`);
    const again = await client.buyListing({ params: { id: goods.id } });
    check(
      scene,
      again.status === 200 && again.body.artifact === goods.artifact,
      'the same call once more gives the same goods',
    );
    const after = await readBalances(scene);
    const moved = before.buyer - after.buyer === price && after.seller - before.seller === price;
    check(scene, moved, `${goods.priceUsdc} USDC went from wallet to wallet, once; the market never held them`);
    explain(
      scene,
      'An agent that follows along waits in one call; whatever is lost on the way, the same proof goes on and never pays twice.',
    );
    const [proof] = proofsSent(requests);
    const value = Buffer.from(need(proof, 'proof')).toString('base64');
    scene.sale = { delivery, proof: { name: 'PAYMENT-SIGNATURE', value } };
  },
};
