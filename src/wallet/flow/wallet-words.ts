import type { Trouble } from '../show/view.ts';
import type { WhyNot } from '../wallets/provider.ts';

type Words = Pick<Trouble, 'title' | 'what' | 'todo'>;

/** What to say where the wallet is why it does not go on. */
export const WALLET_WORDS: Readonly<Record<WhyNot, Words>> = {
  refused: {
    title: 'You said no in the wallet',
    what: 'The wallet was asked and you refused.',
    todo: 'If you want the goods after all, try again.',
  },
  busy: {
    title: 'The wallet has another question open',
    what: 'It answers one question at a time, and one is waiting for you.',
    todo: 'Open the wallet, answer or close what it asks, then try again.',
  },
  not_allowed: {
    title: 'The wallet does not allow this',
    what: 'It has not given this page the account that is needed.',
    todo: 'Try again and allow the account when the wallet asks.',
  },
  disconnected: {
    title: 'The wallet is not connected',
    what: 'It says that it has no connection to its network.',
    todo: 'Open the wallet, see that it is connected, then try again.',
  },
  wrong_account: {
    title: 'The wallet shows another account',
    what: 'These goods belong to a payment of another account than the one that the wallet gives.',
    todo: 'Choose the account that paid in the wallet, then try again.',
  },
  wrong_chain: {
    title: 'The wallet is on another network',
    what: 'It was asked to change to the network of this market and did not.',
    todo: 'Change the network in the wallet yourself, or add it there, then try again.',
  },
  account_changed: {
    title: 'The wallet changed its account',
    what: 'The message was made for the account that was chosen before, so it was put away.',
    todo: 'Try again with the account that shall pay.',
  },
  stopped: {
    title: 'You stopped',
    what: 'The wallet was not asked to sign.',
    todo: 'If you want the goods after all, try again.',
  },
  too_late: {
    title: 'The signature came too late',
    what: 'What you signed was good for two minutes, and these were nearly over. It was put away and sent nowhere.',
    todo: 'Try again; a new message is made.',
  },
  unusable: {
    title: 'The wallet could not do it',
    what: 'It answered with a fault, or with something that is no signature.',
    todo: 'See what the wallet says, then try again, or use another one.',
  },
};
