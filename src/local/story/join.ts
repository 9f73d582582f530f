import { MarketError } from '../../sdk/market-error.ts';
import { MAINTAINER } from '../world.ts';
import { BUYER, findPerson, keepKey, SELLER } from './people.ts';
import { explain, given, hold, type Scene, speakAs } from './scene.ts';
import type { Step } from './step.ts';

export const joinStep: Step = {
  name: 'join',
  title: `The maintainer is there, and two merchants join: ${SELLER} and ${BUYER}`,
  run: async (scene) => {
    scene.people.set(MAINTAINER, given(await findPerson(scene.world, MAINTAINER), MAINTAINER));
    for (const handle of [SELLER, BUYER]) await join(scene, handle);
    const { client } = speakAs(scene, null);
    const { body } = await client.listMerchants();
    const [first] = body.merchants;
    hold(
      scene,
      first?.id === 1 && first.handle === MAINTAINER && first.maintainer,
      `merchant 1 is ${MAINTAINER}, the maintainer`,
    );
    const handles = body.merchants.map((merchant) => merchant.handle);
    hold(scene, handles.includes(SELLER) && handles.includes(BUYER), 'both merchants are in the public list');
    explain(
      scene,
      'Joining takes two calls: the first shows key and recovery codes, once; only the second, with that key, makes the merchant.',
    );
  },
};

async function join(scene: Scene, handle: string): Promise<void> {
  const found = await findPerson(scene.world, handle);
  if (found !== null) {
    scene.people.set(handle, found);
    return hold(scene, true, `${handle} is found again, with the key from an earlier start`);
  }
  const { client, exchanges } = speakAs(scene, null);
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
  if (staged.status !== 'staged') throw new Error('the stage was answered with something else');
  keepKey(scene.world, staged);
  const { session, csrf, merchant_key: key } = staged;
  const { body: confirmed } = await client.register({ body: { action: 'confirm', session, csrf }, key });
  if (confirmed.status !== 'confirmed') throw new Error('the confirmation was answered with something else');
  hold(
    scene,
    !(exchanges.at(-1)?.text ?? key).includes(key),
    `${handle} is merchant ${confirmed.merchant_id}; the key was shown once`,
  );
  scene.people.set(handle, { id: confirmed.merchant_id, handle, key });
}
