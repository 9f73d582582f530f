import type { Action } from '../show/view.ts';
import { type Connected, connectWallet } from '../wallets/connect-wallet.ts';
import type { FoundWallet } from '../wallets/read-announcement.ts';
import type { Scene } from './scene.ts';

export interface Question {
  title: string;
  text: string;
  /** The one account that will do; null: any. */
  wanted: string | null;
  others?: readonly Action[];
}

/** Shows the wallets, also those that announce themselves late, until one is chosen. */
export function showWallets(
  scene: Scene,
  question: Question,
  choose: (wallet: FoundWallet) => void,
  isAct = false,
): void {
  const { screen, wallets } = scene;
  const show = (act: boolean): void => {
    const { title, text, others = [] } = question;
    const found = wallets.found();
    screen.show({ kind: 'wallets', title, text, wallets: found, isSettled: wallets.isSettled(), choose, others }, act);
  };
  show(isAct);
  wallets.onChange(() => {
    if (screen.kind() === 'wallets') show(false);
  });
}

/** Connected to what was chosen; while the wallet asks its owner, the page says so. */
export async function connectTo(scene: Scene, wallet: FoundWallet, wanted: string | null): Promise<Connected> {
  const text =
    'Allow this page to see your account, and the change of the network if the wallet asks for it. This signs nothing.';
  scene.screen.show({ kind: 'waiting', title: 'Answer in your wallet', text }, true);
  scene.connected = await connectWallet(wallet.provider, scene.deal.network, wanted);
  return scene.connected;
}

/** In the middle of something: resolves once the wanted account is connected. */
export async function askToConnect(scene: Scene, question: Question): Promise<Connected> {
  const chosen = await new Promise<FoundWallet>((resolve) => showWallets(scene, question, resolve));
  return await connectTo(scene, chosen, question.wanted);
}
