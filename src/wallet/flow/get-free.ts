import { buy } from '../../sdk/payments/buy.ts';
import { WalletTrouble } from '../wallets/provider.ts';
import { explain } from './explain.ts';
import type { Scene } from './scene.ts';
import { showDelivery } from './show-delivery.ts';

const NOBODY = `0x${'0'.repeat(40)}` as const;

/** What costs nothing: asked for, and checked like everything that is bought. There is no wallet that could sign. */
export async function getFree(scene: Scene): Promise<void> {
  const { client, deal, keep, screen } = scene;
  try {
    const delivery = await buy({
      ...{ client, listingId: deal.id, maxPriceUsdc: 0, network: deal.network, proofStore: keep.proofs },
      wallet: { address: NOBODY, signTypedData: () => Promise.reject(new WalletTrouble('unusable')) },
    });
    showDelivery(scene, delivery);
  } catch (error) {
    const trouble = explain(error, { hasProof: false, isPaid: false, hasEnded: false, until: null });
    const actions = [{ words: 'Try again', act: () => void getFree(scene), isMain: true }];
    screen.show(
      {
        kind: 'trouble',
        trouble: { ...trouble, money: 'It costs nothing, and nothing was signed.' },
        actions,
        record: null,
      },
      true,
    );
  }
}
