import { NETWORKS } from '../../contract/vocabulary.ts';
import type { Deal } from '../deal.ts';
import type { FoundWallet } from '../wallets/read-announcement.ts';
import { button, type Child, element, seenLine } from './element.ts';
import type { View } from './view.ts';

type Wallets = Extract<View, { kind: 'wallets' }>;

export function showWallets({ text, wallets, isSettled, choose, others }: Wallets, deal: Deal): Child[] {
  const row =
    others.length === 0
      ? null
      : element('div', { class: 'row' }, ...others.map(({ words, act }) => button(words, act)));
  if (wallets.length === 0) {
    return isSettled
      ? [...showNone(deal), row]
      : [element('p', { class: 'quiet' }, 'Looking for wallets in this browser.')];
  }
  return [
    element('p', {}, text),
    element(
      'ul',
      { class: 'wallets' },
      ...wallets.map((wallet, index) => element('li', {}, showWallet(wallet, `wallet-${index}`, choose))),
    ),
    row,
  ];
}

function showWallet(wallet: FoundWallet, id: string, choose: (wallet: FoundWallet) => void): HTMLElement {
  const made = button('', () => choose(wallet), { class: 'wallet', id });
  if (wallet.icon !== null) made.append(element('img', { src: wallet.icon, alt: '', width: 28, height: 28 }));
  made.append(seenLine(wallet.name));
  return made;
}

function showNone(deal: Deal): Child[] {
  return [
    element(
      'p',
      {},
      `A wallet is a program that keeps your keys, most often an extension of the browser. None has announced itself here. Install one that you trust, put USDC on ${NETWORKS[deal.network].displayName} into it, and load this page again.`,
    ),
    element(
      'p',
      {},
      'On a telephone, open this page in the browser inside your wallet. The ',
      element('a', { href: `/listing/${deal.id}#how` }, 'other ways to buy'),
      ' need no wallet in the browser.',
    ),
  ];
}
