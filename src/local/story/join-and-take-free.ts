import { MarketError } from '../../sdk/errors.ts';
import { rowsOf } from '../../sdk/page-cursor.ts';
import { eventPages } from '../../sdk/pages.ts';
import { commitmentOf } from '../../sdk/payments/artifact-commitment.ts';
import { WORLD_ACCOUNTS } from '../chain/accounts.ts';
import { MAINTAINER } from '../world.ts';
import {
  BUYER,
  balanceOf,
  check,
  explain,
  findPerson,
  need,
  observedClient,
  type Scene,
  SELLER,
  type Step,
  saveKey,
  waitFor,
} from './scene.ts';

export const joinStep: Step = {
  name: 'join',
  title: `The maintainer is there, and two merchants join: ${SELLER} and ${BUYER}`,
  run: async (scene) => {
    scene.people.set(MAINTAINER, need(await findPerson(scene.world, MAINTAINER), MAINTAINER));
    for (const handle of [SELLER, BUYER]) await joinMarket(scene, handle);
    const { client } = observedClient(scene, null);
    const { body } = await client.listMerchants();
    const [first] = body.merchants;
    check(
      scene,
      first?.id === 1 && first.handle === MAINTAINER && first.maintainer,
      `merchant 1 is ${MAINTAINER}, the maintainer`,
    );
    const handles = body.merchants.map((merchant) => merchant.handle);
    check(scene, handles.includes(SELLER) && handles.includes(BUYER), 'both merchants are in the public list');
    explain(
      scene,
      'Joining takes two calls: the first shows key and recovery codes, once; only the second, with that key, makes the merchant.',
    );
  },
};

async function joinMarket(scene: Scene, handle: string): Promise<void> {
  const person = await findPerson(scene.world, handle);
  if (person !== null) {
    scene.people.set(handle, person);
    return check(scene, true, `${handle} is found again, with the key from an earlier start`);
  }
  const { client, exchanges } = observedClient(scene, null);
  const { body: staged } = await client
    .register({
      body: { action: 'stage', handle, model: 'a demo', client_class: 'coding_persistent', human_approved: true },
    })
    .catch((error: unknown) => {
      if (!(error instanceof MarketError) || error.reason !== 'handle_taken') throw error;
      throw new Error(
        `${handle} is in this market, and ${scene.world.keyFile(handle)} has no key of it: remove the data folder.`,
      );
    });
  if (staged.status !== 'staged') throw new Error('the stage step got an unexpected answer');
  const { session, csrf, merchant_key: key, recovery_codes } = staged;
  saveKey(scene.world.keyFile(handle), { handle, merchant_key: key, recovery_codes });
  const { body: confirmed } = await client.register({ body: { action: 'confirm', session, csrf }, key });
  if (confirmed.status !== 'confirmed') throw new Error('the confirm step got an unexpected answer');
  check(
    scene,
    !(exchanges.at(-1)?.text ?? key).includes(key),
    `${handle} is merchant ${confirmed.merchant_id}; the key was shown once`,
  );
  scene.people.set(handle, { id: confirmed.merchant_id, handle, key });
}

export const maintainerListsStep: Step = {
  name: 'maintainer-lists',
  title: `${MAINTAINER}, the maintainer, lists a free good without a fee`,
  run: async (scene) => {
    const { treasury } = WORLD_ACCOUNTS;
    const before = await balanceOf(scene, treasury);
    const { client } = observedClient(scene, MAINTAINER);
    const listing = {
      title: `A map of this market, edition ${scene.edition}`,
      description: 'Where an agent that comes here for the first time finds what.',
      preview: '',
      artifact: `Edition ${scene.edition}: the shelves are at /api/shelves, the books at /treasury, the log at /api/events.`,
      price_usdc: 0,
      seller_wallet: WORLD_ACCOUNTS.sellerTwo.address,
      tags: ['demo'],
    };
    const { status, body } = await client.createListing({ body: listing });
    if (status !== 201) throw new Error(`the listing was answered with ${status}`);
    const { listing_id: id, fee } = body;
    check(
      scene,
      fee.tx_hash === null && (await balanceOf(scene, treasury)) === before,
      'no fee was asked for and none was paid',
    );
    await waitFor(() => findSeed(scene, id), 'a maintainer_seed event');
    check(scene, true, 'the public log says so: a maintainer_seed event names the listing');
    explain(scene, 'The maintainer may list free of the fee, and everybody can see when that was done.');
    scene.freeGoods = { id, title: listing.title, artifact: listing.artifact, priceUsdc: 0 };
  },
};

async function findSeed(scene: Scene, listingId: number): Promise<true | null> {
  const { client } = observedClient({ ...scene, tell: () => {} }, null);
  for await (const { detail } of rowsOf(eventPages(client, { kind: 'maintainer_seed' }))) {
    if (detail['listing_id'] === listingId) return true;
  }
  return null;
}

export const takeFreeStep: Step = {
  name: 'take-free',
  title: 'Free goods are taken, with a key and without',
  run: async (scene) => {
    const goods = need(scene.freeGoods, 'free goods');
    const id = goods.id;
    const anonymous = observedClient(scene, null);
    const { body: detail } = await anonymous.client.getListing({ params: { id } });
    const { body: taken } = await anonymous.client.buyListing({ params: { id } });
    if (!('artifact' in taken)) throw new Error('free goods were not delivered at once');
    check(
      scene,
      taken.artifact === goods.artifact && taken.purchase === null,
      'without a key: the goods at once, and nothing recorded',
    );
    check(
      scene,
      commitmentOf(taken) === detail.listing.artifact_commitment,
      'they match the commitment that the listing published',
    );
    const member = observedClient(scene, BUYER);
    const { body: bought } = await member.client.buyListing({ params: { id } });
    if (!('artifact' in bought)) throw new Error('free goods were not delivered at once');
    check(
      scene,
      bought.purchase?.verified_via === 'free' && bought.purchase.tx_hash === null,
      `with a key: a purchase of ${BUYER}, without a payment`,
    );
    explain(scene, 'What costs nothing needs no wallet and no waiting.');
  },
};
