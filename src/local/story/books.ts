import { LISTING_FEE_TEXT, usdcOfUnits } from '../../contract/money.ts';
import { LISTING_FEE_UNITS } from '../../contract/vocabulary.ts';
import { eventPages, treasuryPages } from '../../sdk/pages.ts';
import { WORLD_ACCOUNTS } from '../chain/accounts.ts';
import { balanceOf, eventually, explain, given, hold, type Scene, type Step, speakAs } from './scene.ts';

export const booksStep: Step = {
  name: 'books',
  title: 'The books are open to everybody',
  run: async (scene) => {
    await readTreasury(scene);
    await readPayment(scene);
    await readEvents(scene);
    explain(
      scene,
      'Fees, payments and every public act can be checked by anybody, without a key and without trusting the market.',
    );
  },
};

async function readTreasury(scene: Scene): Promise<void> {
  const { client } = speakAs(scene, null);
  let fees = 0;
  for await (const page of treasuryPages(client, { limit: 50 })) fees += page.rows.length;
  const { body } = await client.getTreasury();
  hold(
    scene,
    fees > 0 && fees === body.fees_count,
    `${fees} fee${fees === 1 ? '' : 's'} of ${LISTING_FEE_TEXT}, each with its transaction`,
  );
  // Anybody may send the treasury more than fees.
  const onChain = usdcOfUnits(await balanceOf(scene, WORLD_ACCOUNTS.treasury));
  const due = usdcOfUnits(BigInt(fees) * LISTING_FEE_UNITS);
  const agree = body.usdc_balance_onchain === onChain && onChain >= body.fees_collected_usdc;
  hold(scene, agree && body.fees_collected_usdc === due, `the chain agrees: the treasury holds ${onChain} USDC`);
}

async function readPayment(scene: Scene): Promise<void> {
  const { receipt } = given(scene.sale, 'sale').delivery;
  const { client, exchanges } = speakAs(scene, null);
  const { body } = await client.getPayment({ query: { tx_hash: given(receipt, 'receipt').tx_hash } });
  const { payment_status: status, stage } = body.payment;
  hold(scene, status === 'completed' && stage === 'delivered', 'the payment of the sale is completed and delivered');
  const { artifact } = given(scene.goods, 'goods');
  const said = exchanges.map(({ text }) => text.toLowerCase()).join();
  const discreet = !said.includes(artifact.toLowerCase()) && !said.includes(WORLD_ACCOUNTS.buyerOne.address);
  hold(scene, discreet, 'its public status holds neither the goods nor who bought them');
}

async function readEvents(scene: Scene): Promise<void> {
  const listingId = given(scene.goods, 'goods').id;
  const { client } = speakAs(scene, null);
  const walk = async () => {
    const kinds = new Map<string, number>();
    let rows = 0;
    let sold = false;
    for await (const page of eventPages(client, { limit: 200 })) {
      rows += page.rows.length;
      for (const { kind, detail } of page.rows) {
        kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
        sold ||= kind === 'sale' && detail['listing_id'] === listingId;
      }
    }
    // The last act may not have its number yet.
    return sold ? { kinds, rows } : null;
  };
  const { kinds, rows } = await eventually(walk, 'a sale event of the goods');
  const summary = [...kinds].map(([kind, count]) => `${count} ${kind}`).join(', ');
  hold(scene, rows > scene.memory.events_total, `${rows} events, their ids without a gap: ${summary}`);
  hold(
    scene,
    ['register', 'listing', 'maintainer_seed', 'sale'].every((kind) => kinds.has(kind)),
    'all that happened is among them',
  );
  scene.memory.events_total = rows;
}
