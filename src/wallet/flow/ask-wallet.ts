import type { AuthorizationToSign, Wallet } from '../../sdk/payments/payment-proof.ts';
import { checkMessage, type Purpose, type TypedMessage, toTypedMessage } from '../messages.ts';
import type { Offer } from '../offer.ts';
import { beginRecord } from '../purchase-record.ts';
import type { Action } from '../show/view.ts';
import type { FoundWallet } from '../wallet-announcements.ts';
import {
  type Address,
  askWallet,
  type Connected,
  connectWallet,
  mustBeSame,
  readAccounts,
  WalletTrouble,
} from '../wallet-provider.ts';
import type { Scene } from './scene.ts';

/** Thrown if the message expired while the user read it. Nothing was signed, so the caller makes another one. */
export class MessageStale extends Error {
  override readonly name = 'MessageStale';
}

export interface Asking {
  offer: Offer;
  payer: Address;
  /** Returns the connected wallet, or asks the user to connect one. */
  connect(): Promise<Connected>;
  /** Returns the purpose of the signature, according to the last request to the market. */
  purpose(): Purpose;
  /** Shows the message. Resolves if the user agrees, rejects otherwise. */
  confirm(message: TypedMessage, purpose: Purpose): Promise<void>;
  onOpen(purpose: Purpose): void;
  /** Returns the market's time, which dates the message. */
  now(): number;
}

/** Least validity that a signature must have left: the market's minimum, plus time for the request. */
const MIN_LEFT_MS = 30_000;
/** Time for reading the wallet's prompt. */
const SIGNING_MS = 20_000;

/** Creates an SDK wallet that asks the browser wallet to sign only after the user has confirmed the message. */
export function createAskingWallet(asking: Asking): Wallet {
  return { address: asking.payer, signTypedData: (typed) => confirmAndSign(asking, typed) };
}

async function confirmAndSign(asking: Asking, typed: AuthorizationToSign): Promise<Address> {
  const { offer, payer, now } = asking;
  const message = toTypedMessage(typed);
  const purpose = asking.purpose();
  checkMessage(message, { offer, payer, nowMs: now(), purpose });
  const connected = await asking.connect();
  const untilMs = Number(typed.message.validBefore) * 1_000;
  await waitWhileValid(asking.confirm(message, purpose), connected, untilMs - MIN_LEFT_MS - SIGNING_MS - now());
  await mustBeSame(connected, offer.network);
  asking.onOpen(purpose);
  const params = [payer, JSON.stringify(message)];
  const signature = await askWallet(connected.provider, 'eth_signTypedData_v4', params);
  if (typeof signature !== 'string' || !/^0x(?:[0-9a-fA-F]{2}){65,4096}$/.test(signature)) {
    throw new WalletTrouble('unusable', 'what the wallet gave is no signature');
  }
  // The signature was neither sent nor stored, so dropping it is safe.
  if (untilMs - now() < MIN_LEFT_MS) throw new WalletTrouble('too_late');
  return signature as Address;
}

/** Waits for the user's answer. Rejects if the message expires or the wallet changes its account first. */
async function waitWhileValid(
  confirmed: Promise<void>,
  { provider, address }: Connected,
  leftMs: number,
): Promise<void> {
  let stop = (): void => {};
  const broken = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(new MessageStale()), Math.max(0, leftMs));
    const changed = (accounts: unknown): void => {
      if (!readAccounts(accounts).includes(address)) reject(new WalletTrouble('account_changed'));
    };
    provider.on?.('accountsChanged', changed);
    stop = () => {
      clearTimeout(timer);
      provider.removeListener?.('accountsChanged', changed);
    };
  });
  try {
    await Promise.race([confirmed, broken]);
  } finally {
    stop();
  }
}

/** Creates the SDK wallet of this page, which lets the user confirm every signature first. */
export function walletOfPage(scene: Scene, payer: Address, isRenewed: boolean): Wallet {
  const { offer, store, screen, client, now } = scene;
  return createAskingWallet({
    ...{ offer, payer, now: client.clock.now },
    connect: async () => {
      if (scene.connected?.address === payer) return scene.connected;
      return await askToConnect(scene, {
        title: 'Connect the wallet that paid',
        text: `The market wants to see by a signature that you are who paid: ${payer}. It is for an amount of 0.`,
        wanted: payer,
      });
    },
    purpose: () => (scene.lastRequest.isCollecting ? 'collect' : 'pay'),
    confirm: (message, purpose) =>
      new Promise((resolve, reject) => {
        const no = (): void => reject(new WalletTrouble('stopped'));
        const record = scene.hasEnded ? beginRecord(payer, now()) : store.record();
        const aheadMs = client.clock.now() - now();
        screen.show({ kind: 'confirm', message, purpose, isRenewed, aheadMs, record, yes: resolve, no }, true);
      }),
    onOpen: (purpose) => {
      const text =
        purpose === 'pay'
          ? 'The wallet shows the message that you have just read. Compare amount and receiver, then sign there.'
          : 'The wallet shows the message that you have just read, with an amount of 0.';
      screen.show({ kind: 'waiting', title: 'Sign in your wallet', text }, true);
    },
  });
}

interface Question {
  title: string;
  text: string;
  /** The only accepted account. Null accepts any. */
  wanted: string | null;
  others?: readonly Action[];
}

/** Shows the wallets until one is chosen, and adds those that announce themselves late. */
export function showWallets(
  scene: Scene,
  question: Question,
  choose: (wallet: FoundWallet) => void,
  isAct = false,
): void {
  const { screen, wallets } = scene;
  const show = (act: boolean): void => {
    const { title, text, others = [] } = question;
    screen.show(
      { kind: 'wallets', title, text, wallets: wallets.list(), hasSearched: wallets.hasSearched(), choose, others },
      act,
    );
  };
  show(isAct);
  wallets.onChange(() => {
    if (screen.kind() === 'wallets') show(false);
  });
}

/** Connects the chosen wallet. Meanwhile the page asks the user to answer in the wallet. */
export async function connectTo(scene: Scene, wallet: FoundWallet, wanted: string | null): Promise<Connected> {
  const text =
    'Allow this page to see your account, and the change of the network if the wallet asks for it. This signs nothing.';
  scene.screen.show({ kind: 'waiting', title: 'Answer in your wallet', text }, true);
  scene.connected = await connectWallet(wallet.provider, scene.offer.network, wanted);
  return scene.connected;
}

/** Lets the user choose a wallet. Resolves once the wanted account is connected. */
async function askToConnect(scene: Scene, question: Question): Promise<Connected> {
  const chosen = await new Promise<FoundWallet>((resolve) => showWallets(scene, question, resolve));
  return await connectTo(scene, chosen, question.wanted);
}
