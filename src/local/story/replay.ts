import { MarketError } from '../../sdk/market-error.ts';
import { explain, given, hold, speakAs } from './scene.ts';
import type { Step } from './step.ts';

export const replayStep: Step = {
  name: 'replay',
  title: 'A stranger sends a proof that was already used',
  run: async (scene) => {
    const goods = given(scene.goods, 'goods');
    const { proof } = given(scene.sale, 'sale');
    const { client, exchanges } = speakAs(scene, null);
    const answer: unknown = await client
      .buyListing({ params: { id: goods.id }, payment: proof })
      .catch((error: unknown) => error);
    const refused = answer instanceof MarketError && answer.status === 409 && answer.reason === 'sign_to_collect';
    hold(scene, refused, 'the proof alone collects nothing: 409, sign to show that the wallet is yours');
    hold(scene, !exchanges.some(({ text }) => text.includes(goods.artifact)), 'the answer holds nothing of the goods');
    explain(
      scene,
      'Once it is on the chain everybody can read a proof, so it shows that somebody paid and not who is asking.',
    );
  },
};
