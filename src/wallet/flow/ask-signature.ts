import type { Wallet } from '../../sdk/payments/sign-authorization.ts';
import { beginRecord } from '../keep/purchase-record.ts';
import { createAskingWallet } from '../messages/asking-wallet.ts';
import type { Address } from '../wallets/connect-wallet.ts';
import { WalletTrouble } from '../wallets/provider.ts';
import { askToConnect } from './choose-wallet.ts';
import type { Scene } from './scene.ts';

/** The wallet as the SDK sees it: every signature passes by the person first. */
export function askingWallet(scene: Scene, payer: Address, isRenewed: boolean): Wallet {
  const { deal, keep, screen, now } = scene;
  return createAskingWallet({
    ...{ deal, payer, now },
    connect: async () => {
      if (scene.connected?.address === payer) return scene.connected;
      return await askToConnect(scene, {
        title: 'Connect the wallet that paid',
        text: `The market wants to see by a signature that you are who paid: ${payer}. It is for an amount of 0.`,
        wanted: payer,
      });
    },
    purpose: () => (scene.asked.isCollecting ? 'collect' : 'pay'),
    confirm: (message, purpose) =>
      new Promise((resolve, reject) => {
        const no = (): void => reject(new WalletTrouble('stopped'));
        const record = scene.hasEnded ? beginRecord(payer, now()) : keep.record();
        screen.show({ kind: 'confirm', message, purpose, isRenewed, record, yes: resolve, no }, true);
      }),
    onAsked: (purpose) => {
      const text =
        purpose === 'pay'
          ? 'The wallet shows the message that you have just read. Compare amount and receiver, then sign there.'
          : 'The wallet shows the message that you have just read, with an amount of 0.';
      screen.show({ kind: 'waiting', title: 'Sign in your wallet', text }, true);
    },
  });
}
